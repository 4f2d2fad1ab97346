package openai

// arranger puts messages into the order of roles that some templates insist on. It
// is for endpoints that have said so: everywhere else it passes them on.
type arranger struct {
	merge  bool     // neighbouring users become one message
	bridge *message // goes between a result and the user; nil none

	held    message // a user's, to which the next may be added
	holding bool
	last    string // role
}

// add takes the next messages and returns those that are final.
func (a *arranger) add(in []message) []message {
	if !a.merge && a.bridge == nil {
		return in
	}
	var out []message
	for _, m := range in {
		if a.holding && m.role == "user" {
			a.held.content += "\n\n" + m.content
			continue
		}
		out = a.rest(out)
		if a.bridge != nil && a.last == "tool" && m.role == "user" {
			out = append(out, *a.bridge)
		}
		a.last = m.role
		if a.merge && m.role == "user" {
			a.held, a.holding = m, true
			continue
		}
		out = append(out, m)
	}
	return out
}

// rest appends what was held back.
func (a *arranger) rest(out []message) []message {
	if a.holding {
		out = append(out, a.held)
	}
	a.held, a.holding = message{}, false
	return out
}
