package tools

import (
	"cmp"

	"dsh/internal/policy"
	"dsh/internal/redact"
)

// refuseMarker refuses arguments that hold the marker of a secret where it could end
// up in a file: the model never saw the secret, and would overwrite it.
func refuseMarker(e *entry, object map[string]any) error {
	marker := markerIn(object)
	if marker == "" {
		return nil
	}
	switch command, _ := object["command"].(string); e.Class() {
	case policy.Write:
		return fail(HasMarker, "%s was not run, its arguments hold %s. That is not text of a file: it stands where dsh hid a secret from you, "+
			"and writing it would destroy the secret. Leave the lines with it as they are: use edit, with an old_string and a new_string that do not reach into them. "+
			"If the secret itself must change, ask the user to do it.", e.Name(), marker)
	case policy.Exec:
		if policy.ReadsOnly(command) {
			return nil // it may be looked for
		}
		return fail(HasMarker, "%s was not run, its arguments hold %s. That is not the text itself: it stands where dsh hid a secret from you, "+
			"and a command that may write it somewhere would destroy the secret. Let the command take the secret from where it is (a file, a variable) "+
			"without writing it out, or ask the user.", e.Name(), marker)
	}
	return nil
}

// markerIn is the first marker in a JSON value, its keys included.
func markerIn(v any) string {
	switch v := v.(type) {
	case string:
		return redact.Marker(v)
	case []any:
		for _, item := range v {
			if m := markerIn(item); m != "" {
				return m
			}
		}
	case map[string]any:
		for name, item := range v {
			if m := cmp.Or(redact.Marker(name), markerIn(item)); m != "" {
				return m
			}
		}
	}
	return ""
}
