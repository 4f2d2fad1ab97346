package session

import (
	"slices"
	"strings"
	"testing"
)

// find is what a search yields, as "id where turn text".
func find(t *testing.T, root string, words ...string) (hits []Hit) {
	t.Helper()
	for hit, err := range Search(root, words) {
		if err != nil {
			t.Fatal(err)
		}
		hits = append(hits, hit)
	}
	return hits
}

func TestSearchFindsAllWordsOfASession(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 3)
	wholeTurn(t, l, 0)
	mustAppend(t, l, title("Basket RENAMED"), queued("w", "a prompt that waits"), Draft{Data: WorkspaceChanged{Path: "/p/src/Cart.go"}})
	startTurn := func(args string) { // a call that names a file
		mustAppend(t, l, Draft{Data: TurnStart{3}}, Draft{Data: StepStart{3, 1}},
			Visible(AssistantMessage{Turn: 3, Step: 1, Message: answerMsg("I read", "c1")}),
			Draft{Data: ToolCall{Turn: 3, Step: 1, CallID: "c1", Name: "read", Arguments: args}})
	}
	startTurn(`{"file_path":"docs/Guide.md","content":"nobody looks here"}`)
	mustClose(t, l)
	put(t, l.root, "older", "/p", titleLine("0", "500", "the basket of before"))

	for _, c := range []struct {
		words       []string
		where, text string
		turn        int
	}{
		{[]string{"question 2"}, "prompt", "question 2", 2},
		{[]string{"ANSWER 2"}, "answer", "answer 2", 2},
		{[]string{"cart.GO"}, "file", "/p/src/Cart.go", 2},
		{[]string{"guide"}, "file", "docs/Guide.md", 3},
		{[]string{"renamed"}, "title", "Basket RENAMED", 0},
		{[]string{"waits"}, "prompt", "a prompt that waits", 0},
		{[]string{"renamed", "answer 1"}, "title", "Basket RENAMED", 0},
		{[]string{"question", "1"}, "prompt", "question 1", 1},
	} {
		hits := find(t, l.root, c.words...)
		if len(hits) != 1 || hits[0].ID != l.header.ID || hits[0].Where != c.where || hits[0].Text != c.text {
			t.Errorf("%q: %+v", c.words, hits)
		} else if hits[0].Turn != c.turn {
			t.Errorf("%q: turn %d", c.words, hits[0].Turn)
		}
	}
	for _, none := range [][]string{{"nobody looks"}, {"renamed", "missing"}, {"w0 w1"}} {
		if hits := find(t, l.root, none...); len(hits) > 0 {
			t.Errorf("%q: %+v", none, hits)
		}
	}
	both := find(t, l.root, "basket")
	if len(both) != 2 || both[0].ID != l.header.ID || both[1].ID != "older" {
		t.Errorf("not the newest first: %+v", both)
	}
}

func TestSearchCountsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "half", "/p", titleLine("0", "500", "found"), `{"type":"user/message","seq":1,`, `{"type":"user/message",`)
	hits := find(t, root, "found")
	if len(hits) != 1 || hits[0].Unread != 2 {
		t.Errorf("%+v", hits)
	}
}

func TestExcerptsAreOneBoundedLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é ", 5000)
	for _, c := range []struct{ text, word, want string }{
		{"a\n\tneedle\r\nb", "needle", "a needle b"},
		{long + "needle " + long, "needle", "needle"},
		{"İİİ Needle", "needle", "needle"}, // lower case is longer
	} {
		lower := strings.ToLower(c.text)
		s := newSearch([]string{c.word})
		s.text("prompt", c.text)
		got := s.hit.Text
		if !strings.Contains(got, c.want) || len([]rune(got)) > excerptBefore+excerptAfter+2 || strings.ContainsAny(got, "\n\r\t") {
			t.Errorf("%.20q of %d: %q", c.text, len(lower), got)
		}
	}
	if slices.Contains([]rune(excerpt("héé", 1)), '\ufffd') {
		t.Error("a rune was cut")
	}
}
