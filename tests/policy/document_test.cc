// YAML as a tree with places; what it refuses and how it is bounded.
#include "suimon/policy/document.h"

#include <gtest/gtest.h>

#include <string>

namespace suimon {
namespace {

struct Read {
  Node root;
  Loaded told;
  bool complete = false;

  std::string first() const {
    return told.mistakes.empty() ? "no mistake" : told.mistakes.front().to_string();
  }
};

Read read(std::string_view text) {
  Read out;
  Mistakes mistakes("f");
  out.complete = parse_document(text, out.root, mistakes);
  mistakes.hand_over(out.told);
  return out;
}

TEST(Document, EveryNodeKnowsItsPlace) {
  const Read r = read("a: 1\nb:\n  - x\n  - 'y z'\nc: {d: ~, e: [f]}\n");
  ASSERT_TRUE(r.complete) << r.first();
  ASSERT_EQ(r.told.mistakes.size(), 0U);
  ASSERT_TRUE(r.root.is_mapping());
  ASSERT_EQ(r.root.entries.size(), 3U);
  EXPECT_EQ(r.root.at, (Place{1, 1}));
  EXPECT_EQ(r.root.find("a")->value.text, "1");
  EXPECT_EQ(r.root.find("a")->value.at, (Place{1, 4}));
  const Entry* b = r.root.find("b");
  ASSERT_TRUE(b->value.is_sequence());
  EXPECT_EQ(b->at, (Place{2, 1}));
  EXPECT_EQ(b->value.items[0].at, (Place{3, 5}));
  EXPECT_FALSE(b->value.items[0].quoted);
  EXPECT_EQ(b->value.items[1].text, "y z");
  EXPECT_TRUE(b->value.items[1].quoted);
  const Node& c = r.root.find("c")->value;
  EXPECT_TRUE(c.find("d")->value.is_null());
  EXPECT_EQ(c.find("e")->value.items[0].at, (Place{5, 15}));
  EXPECT_EQ(r.root.find("absent"), nullptr);
}

TEST(Document, NothingAndCommentsAreANullDocument) {
  for (const char* text : {"", "# only a comment\n", "---\n", "~\n", "\xEF\xBB\xBF"}) {
    const Read r = read(text);
    EXPECT_TRUE(r.complete) << text;
    EXPECT_TRUE(r.root.is_null()) << text;
  }
}

TEST(Document, QuotedNullIsText) {
  EXPECT_TRUE(read("'~'\n").root.is_scalar());
  EXPECT_TRUE(read("\"\"\n").root.is_scalar());
  EXPECT_TRUE(read("null\n").root.is_null());
}

TEST(Document, ByteOrderMarkMovesNoColumn) {
  const Read r = read(
      "\xEF\xBB\xBF"
      "a: &x 1\n");
  EXPECT_EQ(r.told.mistakes[0].column, 4);
}

TEST(Document, ColumnsCountCharactersNotBytes) {
  const Read r = read("{水門: &x 1}\n");
  EXPECT_EQ(r.told.mistakes[0].column, 6);
}

TEST(Document, EveryMistakeBeforeASyntaxMistakeIsTold) {
  const Read r = read("a: &x 1\nb: *x\na: 2\nc: !!int 3\nd: [\n");
  EXPECT_FALSE(r.complete);
  ASSERT_EQ(r.told.mistakes.size(), 5U);
  EXPECT_EQ(r.told.mistakes[0].to_string().substr(0, 12), "f:1:4: `&x`:");
  EXPECT_EQ(r.told.mistakes[1].to_string().substr(0, 12), "f:2:4: `*x`:");
  EXPECT_NE(r.told.mistakes[2].text.find("the first is at 1:1"), std::string::npos);
  EXPECT_NE(r.told.mistakes[3].text.find("!!int"), std::string::npos);
}

TEST(Document, AliasBombIsRefusedAtItsFirstAlias) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char name = 'b'; name < 'k'; ++name) {
    const std::string before = std::string("*") + static_cast<char>(name - 1);
    bomb += std::string(1, name) + ": &" + name + " [";
    for (int i = 0; i < 9; ++i) bomb += before + ", ";
    bomb += before + "]\n";
  }
  const Read r = read(bomb);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.root.find("b")->value.items[0].kind, Node::Kind::refused);
  EXPECT_EQ(r.told.mistakes.size(), Mistakes::kMost);
  EXPECT_EQ(r.told.mistakes.back().text, "there are more; mend these first");
}

TEST(Document, DepthIsBoundedExactly) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(read(nested(kMostDocumentDepth)).complete);
  const Read r = read(nested(kMostDocumentDepth + 1));
  EXPECT_FALSE(r.complete);
  EXPECT_EQ(r.first(), "f:1:33: nested more than 32 levels deep");
  EXPECT_FALSE(read(std::string(1'000'000, '[')).complete);
}

TEST(Document, NodesAreBoundedExactly) {
  const auto list = [](int items) {
    std::string text = "[";
    for (int i = 0; i < items; ++i) text += "a,";
    return text + "]";
  };
  EXPECT_TRUE(read(list(kMostDocumentNodes - 1)).complete);
  const Read r = read(list(kMostDocumentNodes));
  EXPECT_FALSE(r.complete);
  EXPECT_NE(r.first().find("100,000"), std::string::npos);
}

TEST(Document, SizeIsBoundedExactly) {
  std::string text(kMostDocumentBytes, '\n');
  EXPECT_TRUE(read(text).complete);
  text += '\n';
  EXPECT_EQ(read(text).first(), "f: is larger than 4 MiB; divide it, by domain");
}

TEST(Document, DuplicateKeysAreFoundAmongManyInLinearTime) {
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  text += "k39999: 2\n";
  const Read r = read(text);
  ASSERT_EQ(r.told.mistakes.size(), 1U);
  EXPECT_EQ(r.told.mistakes[0].line, 40'001);
  EXPECT_EQ(r.root.entries.back().value.text, "1");  // the first stays
}

TEST(Shown, ControlCharactersAreEscapedAndLongTextIsCutAtACharacter) {
  EXPECT_EQ(shown("a\x1b[1m"), "`a\\x1b[1m`");
  EXPECT_EQ(shown("\xC2\x9B"), "`\\xc2\\x9b`");
  EXPECT_EQ(shown("水門"), "`水門`");
  EXPECT_EQ(shown(std::string(60, 'a')), "`" + std::string(60, 'a') + "`");
  EXPECT_EQ(shown(std::string(59, 'a') + "水"), "`" + std::string(59, 'a') + "...`");
}

TEST(Mistake, PlaceIsLeftOutWhereThereIsNone) {
  EXPECT_EQ((Mistake{"limits.yaml", 0, 0, "cannot be read"}.to_string()),
            "limits.yaml: cannot be read");
  EXPECT_EQ((Mistake{"limits.yaml", 3, 5, "is wrong"}.to_string()), "limits.yaml:3:5: is wrong");
}

}  // namespace
}  // namespace suimon
