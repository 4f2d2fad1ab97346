package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dsh/internal/config"
	"dsh/internal/session"
)

// checkSettings reports on the user's settings and on what the environment adds.
func checkSettings(_ context.Context, p *patient) finding {
	f := fileFinding(p.paths.UserConfig, "no place for them: HOME is not set")
	if f.Status == broken || p.loadErr == nil {
		if f.Status != broken && p.settings != nil {
			return p.judgeRules(f)
		}
		return f
	}
	var bad *config.Error
	if errors.As(p.loadErr, &bad) && bad.File != "" && bad.File == p.paths.ProjectConfig {
		return f // the next check says so
	}
	return finding{Status: broken, What: p.loadErr.Error(), Do: "correct it: dsh does not start with it"}
}

// judgeRules looks at the rules, which only the policy understands.
func (p *patient) judgeRules(f finding) finding {
	judge := func(rules []config.RuleText, v session.Verdict) {
		for _, r := range rules {
			if _, err := parseRule(r.Text, v, r.Origin.String()); err != nil {
				f = finding{Status: broken, What: r.Origin.String() + ": " + err.Error(), Do: "correct the rule: dsh does not start with it"}
			}
		}
	}
	judge(p.settings.Allow, session.Allow)
	judge(p.settings.Deny, session.Deny)
	return f
}

func checkProject(_ context.Context, p *patient) finding {
	if p.paths.ProjectConfig == "" {
		return finding{Status: broken, What: "the working directory is gone", Do: "change to another one"}
	}
	if p.paths.ProjectConfig == p.paths.UserConfig {
		return finding{Status: healthy, What: "no settings of its own"}
	}
	return fileFinding(p.paths.ProjectConfig, "")
}

// fileFinding reports on one file of settings.
func fileFinding(path, none string) finding {
	if path == "" {
		return finding{Status: worry, What: none, Do: "set HOME or XDG_CONFIG_HOME"}
	}
	n, wrong := config.CheckFile(path)
	switch {
	case len(wrong) == 1:
		return finding{Status: broken, What: wrong[0].Error(), Do: "correct it: dsh does not start with it, and does not write into it"}
	case len(wrong) > 1:
		return finding{Status: broken, What: fmt.Sprintf("%v (and %d more mistakes in this file)", wrong[0], len(wrong)-1), Do: "correct them: dsh does not start with them"}
	}
	if _, err := os.Stat(path); err != nil {
		return finding{Status: healthy, What: "none (" + path + ")"}
	}
	return finding{Status: healthy, What: fmt.Sprintf("%d in %s", n, path)}
}

func checkTrust(_ context.Context, p *patient) finding {
	if p.cwd == "" || p.homeErr != nil {
		return finding{Status: healthy, What: "nothing to trust"}
	}
	text, err := p.paths.ProjectSettings()
	if err != nil {
		return finding{Status: broken, What: err.Error(), Do: "make it a file that can be read, or remove it"}
	}
	if text == "" {
		return finding{Status: healthy, What: "not needed: " + p.paths.Project + " brings no settings"}
	}
	yes, known, err := p.paths.Trusted(text)
	switch {
	case err != nil:
		return finding{Status: broken, What: err.Error(), Do: "remove that file: you are asked again"}
	case yes:
		return finding{Status: healthy, What: "the settings of " + p.paths.Project + " are trusted"}
	case known:
		return finding{Status: healthy, What: "the settings of " + p.paths.Project + " are not trusted: they can only make dsh stricter"}
	}
	return finding{Status: healthy, What: "nobody said yet whether the settings of " + p.paths.Project + " are trusted: they can only make dsh stricter"}
}

// checkKey says where the key comes from. Nothing of it is shown.
func checkKey(_ context.Context, p *patient) finding {
	if p.keysErr != nil {
		return finding{Status: broken, What: p.keysErr.Error(), Do: "repair the file: dsh does not start with it"}
	}
	if p.settings == nil {
		return p.unread()
	}
	name, _, _, err := p.settings.Route()
	if err != nil || name == scriptProvider {
		return finding{Status: healthy, What: "none needed"}
	}
	key, origin, err := p.settings.Key(name)
	var missing *config.MissingKeyError
	switch {
	case errors.As(err, &missing):
		return finding{Status: broken, What: "no key for " + name, Do: fmt.Sprintf("dsh login %s, or export %s=...", name, missing.Variable)}
	case err != nil:
		return finding{Status: broken, What: err.Error(), Do: "copy the key again, whole and without line breaks"}
	case key == "":
		return finding{Status: healthy, What: name + " wants no key"}
	}
	what := fmt.Sprintf("%s has a well-formed one from %s%s", name, origin, hidden(p.settings, name, origin))
	if risk := p.settings.PlainHTTP(name); risk != "" {
		return finding{Status: worry, What: what + "; " + risk, Do: "use a base URL that begins with https://"}
	}
	return finding{Status: healthy, What: what}
}

// checkFiles looks for what others could read or change. The directory of the state
// itself may be the user's own, and only names can be seen in it.
func checkFiles(ctx context.Context, p *patient) finding {
	var open []string
	looked := 0
	look := func(root string) {
		if root == "" {
			return
		}
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || ctx.Err() != nil {
				return ctx.Err() // what cannot be read is for the check of the disk
			}
			if info, err := d.Info(); err == nil && path != root && info.Mode()&fs.ModeSymlink == 0 {
				looked++
				if info.Mode().Perm()&0o077 != 0 {
					open = append(open, path)
				}
			}
			return nil
		})
	}
	look(p.paths.Home)
	if info, err := os.Stat(p.paths.Credentials); err == nil && info.Mode().Perm()&0o077 != 0 {
		open = append([]string{p.paths.Credentials}, open...)
	}
	switch {
	case len(open) == 0 && looked == 0:
		return finding{Status: healthy, What: "none yet"}
	case len(open) == 0:
		return finding{Status: healthy, What: fmt.Sprintf("%d under %s, for you alone", looked, p.paths.Home)}
	case len(open) == 1:
		return finding{Status: worry, What: "others may use " + open[0], Do: "chmod go= " + open[0]}
	}
	return finding{Status: worry, What: fmt.Sprintf("others may use %s and %d more", open[0], len(open)-1), Do: "chmod -R go= " + cmp.Or(p.paths.Home, filepath.Dir(open[0]))}
}

func checkSessions(ctx context.Context, p *patient) finding {
	if p.homeErr != nil {
		return finding{Status: healthy, What: "none: there is no place for them"} // the disk's finding says why
	}
	entries, err := session.List(sessionsDir(p.paths))
	if err != nil {
		return finding{Status: broken, What: err.Error(), Do: "look at " + sessionsDir(p.paths)}
	}
	var damaged []string
	for _, e := range entries {
		if e.Damaged != nil {
			damaged = append(damaged, shortID(e.ID))
		}
	}
	what := fmt.Sprintf("%d, %s", len(entries), inBytes(treeSize(ctx, sessionsDir(p.paths))))
	if len(damaged) > 0 {
		return finding{Status: worry, What: fmt.Sprintf("%s; cannot be opened: %s", what, firstFew(damaged)), Do: "dsh sessions list says why"}
	}
	return finding{Status: healthy, What: what}
}

// treeSize is the bytes of the files below a directory, as far as it could look.
func treeSize(ctx context.Context, root string) (bytes int64) {
	_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return ctx.Err()
	})
	return bytes
}

func firstFew(list []string) string {
	if n := len(list) - namesShown; n > 0 {
		return strings.Join(list[:namesShown], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(list, ", ")
}

// inBytes is an amount of bytes for people.
func inBytes(bytes int64) string {
	const unit = 1024
	if bytes < unit {
		return fmt.Sprintf("%d B", bytes)
	}
	value, name := float64(bytes), ""
	for _, name = range []string{"KB", "MB", "GB", "TB"} {
		if value /= unit; value < unit {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", value, name)
}
