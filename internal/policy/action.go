package policy

// Class is what kind of tool an action comes from.
type Class string

const (
	Read    Class = "read"    // no side effects
	Write   Class = "write"   // changes files through dsh
	Exec    Class = "exec"    // runs processes
	Net     Class = "net"     // talks to the network
	Control Class = "control" // changes only the session
	Human   Class = "ask"     // needs a person
)

// Action is what a call is about to do, in the terms policy judges.
type Action struct {
	Tool    string
	Class   Class
	Paths   []string // real paths: links resolved as far as they exist; of exec, the directory it runs in
	Command string   // exec
	Target  string   // the raw argument a rule's pattern is matched against: a path or a command
	Linked  bool     // links lead from Target to the one of Paths
}
