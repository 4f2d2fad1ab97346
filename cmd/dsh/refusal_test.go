package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestED20OutsideTheWorkspaceIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outside := b.write("outside.txt", "old\n")
	b.write("work/.git/HEAD", "ref: refs/heads/main\n") // the workspace ends here
	b.served(`== look
call read {"file_path":"` + outside + `"}

== change
call edit {"file_path":"` + outside + `","old_string":"old","new_string":"new"}

== answer
expect "not allowed"
text I may not change it.
`)
	r := b.dsh("run", "--permission", "workspace", "-o", "json", "change it").want(exitRefused, "I may not change it.", "")
	if got := b.read("outside.txt"); got != "old\n" {
		t.Errorf("the file was changed: %q", got)
	}
	var result struct {
		Refused []struct{ Tool, Target, Reason, Flag string }
	}
	if err := json.Unmarshal([]byte(r.out), &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Refused) != 1 || result.Refused[0].Tool != "edit" || result.Refused[0].Flag == "" {
		t.Errorf("refused: %+v", result.Refused)
	}
	if _, err := os.Stat(filepath.Join(b.work, "outside.txt")); err == nil {
		t.Error("a file was made inside the workspace instead")
	}
}
