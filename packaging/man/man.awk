# Turns what `suimon [COMMAND] --help` prints into a manual page (man(7)).
#
#   suimon serve --help | awk -v name=suimon-serve -v version=0.1.0 -v date=2026-11-30 -f man.awk
#
# Help has a line or two of what it is, "Usage: ...", and parts such as "Options:" whose entries are
# indented by two; what an entry means stands from the 31st column on, on the same line or the next.

function roff(text) { # as it is: backslashes, hyphens of flags, a dot or quote that begins a line
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  if (text ~ /^[.']/) text = "\\&" text
  return text
}

function sentence(text) { # with a capital (unless it begins with an example) and a full stop
  if (text == "") return ""
  if (text !~ /^[^ ]*[=:\/]/) text = toupper(substr(text, 1, 1)) substr(text, 2)
  return text ~ /[.!?]$/ ? text : text "."
}

# "--http TEXT=127.0.0.1:8080 (Env:SUIMON_HTTP)": the flag, what follows it, its default, its variable.
function entry(head, meaning,    names, value, preset, variable, at) {
  if (match(head, / \(Env:[A-Z0-9_]+\)/)) {
    variable = substr(head, RSTART + 6, RLENGTH - 7)
    head = substr(head, 1, RSTART - 1) substr(head, RSTART + RLENGTH)
  }
  at = index(head, " ")
  names = at ? substr(head, 1, at - 1) : head
  value = at ? substr(head, at + 1) : ""
  at = index(value, "=")
  if (at) {
    preset = substr(value, at + 1)
    value = substr(value, 1, at - 1)
  }
  sub(/^UINT:(U?INT|UINT)/, "UINT", value) # the type's own check says no more
  gsub(/,/, ", ", names)
  print ".TP"
  printf "\\fB%s\\fR%s\n", roff(names), value == "" ? "" : " \\fI" roff(value) "\\fR"
  print roff(sentence(meaning))
  if (preset != "") print "Default: " roff(preset) "."
  if (variable != "") print "Environment: \\fB" roff(variable) "\\fR."
}

function flush() {
  if (head != "") {
    if (part == "Subcommands") {
      print ".TP\n\\fBsuimon\\-" roff(head) "\\fR(1)\n" roff(sentence(meaning))
    } else {
      entry(head, meaning)
    }
  }
  head = meaning = ""
}

NR == 1 {
  about = $0
  sub(/^suimon: /, "", about)
  next
}
/^Usage: / {
  short = about
  sub(/\. .*/, "", short) # NAME is one line; what more there is comes below
  sub(/\.$/, "", short)
  printf ".TH \"%s\" \"1\" \"%s\" \"suimon %s\" \"User commands\"\n", toupper(roff(name)), date, version
  print ".nh" # a broken name could not be copied
  print ".SH NAME\n" roff(name) " \\- " roff(short)
  usage = substr($0, 8)
  match(usage, /^suimon( [a-z-]+)*/)
  print ".SH SYNOPSIS\n\\fB" roff(substr(usage, 1, RLENGTH)) "\\fR" roff(substr(usage, RLENGTH + 1))
  print ".SH DESCRIPTION\n" roff(sentence(about))
  next
}
/^[A-Z][A-Za-z ]*:$/ {
  flush()
  part = substr($0, 1, length($0) - 1)
  print ".SH " (part == "Subcommands" ? "COMMANDS" : part == "Positionals" ? "ARGUMENTS" : toupper(part))
  next
}
/^  [^ ]/ {
  flush()
  line = substr($0, 3)
  # Two spaces, or the end of the line, end the head.
  at = index(line, "  ")
  head = at ? substr(line, 1, at - 1) : line
  meaning = at ? substr(line, at) : ""
  sub(/^ +/, "", meaning)
  next
}
/^ +[^ ]/ {
  line = $0
  sub(/^ +/, "", line)
  meaning = meaning (meaning == "" ? "" : " ") line
}
END { flush() }
