# bash completion for suimon: commands and flags as the program's own help lists them.
_suimon() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} suimon=${COMP_WORDS[0]}
  COMPREPLY=()
  if [[ $COMP_CWORD == 1 ]]; then
    local names
    names=$("$suimon" --help 2>/dev/null |
      sed -n -e '/^Subcommands:/,$s/^  \([a-z][a-z-]*\) .*/\1/p' -e 's/^  .*\(--[a-z-]*\).*/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
  elif [[ $word == -* ]]; then
    local flags
    flags=$("$suimon" "${COMP_WORDS[1]}" --help 2>/dev/null | sed -n 's/^  \(-[a-z],\)\{0,1\}\(--[a-z-]*\).*/\2/p')
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
  elif [[ $before != --* || $before == --config || $before == --secret-file ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -F _suimon suimon
