package session

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dsh/internal/llm"
)

// JobStatus is where a job stands. Only the first two are active.
type JobStatus string

const (
	JobRunning   JobStatus = "running"
	JobStopping  JobStatus = "stopping" // told to end, not ended; never in the log
	JobCompleted JobStatus = "completed"
	JobKilled    JobStatus = "killed"
	JobFailed    JobStatus = "failed" // nobody saw how it ended
	JobLost      JobStatus = "lost"   // dsh ended before it did
)

// Active reports whether a job has not ended.
func (s JobStatus) Active() bool { return s == JobRunning || s == JobStopping }

// Who stops a job.
const (
	JobByModel = "model"
	JobByUser  = "user"
	JobByDsh   = "dsh" // it was closed
)

// Why a command that the turn waited for became a job.
const (
	HandoverSteer   = "steer"   // the user wrote
	HandoverKey     = "key"     // the user pressed the key for it
	HandoverTimeout = "timeout" // its own
	HandoverAuto    = "auto"    // it ran longer than anyone should wait
)

// MaxAlone is how many turns in a row the ends of jobs may begin without the user: a
// model that starts a job at the end of each would go on for ever.
const MaxAlone = 3

// JobStarted (ours) says that work goes on without the turn waiting for it.
type JobStarted struct {
	ID       string `json:"id"` // kind and number: bash-1
	Kind     string `json:"kind"`
	Label    string `json:"label"`
	CallID   string `json:"callId,omitempty"`
	Handover string `json:"handover,omitempty"` // "" for what began in the background
}

// JobSettled (ours) is its end: exactly one for each JobStarted; a crash's is written
// on resume.
type JobSettled struct {
	ID       string    `json:"id"`
	Status   JobStatus `json:"status"`
	Detail   string    `json:"detail,omitempty"` // exit code: 1
	By       string    `json:"by,omitempty"`     // who had it stopped
	Reason   string    `json:"reason,omitempty"` // and why
	Bytes    int64     `json:"bytes,omitempty"`  // of its output
	Artifact string    `json:"artifact,omitempty"`
	Began    string    `json:"began,omitempty"`    // the workspace's revision at its start
	Revision string    `json:"revision,omitempty"` // and at its end
	Stale    []string  `json:"stale,omitempty"`    // files that changed meanwhile, the first of them
}

// JobInfo is a job as people and the model see it.
type JobInfo struct {
	ID, Kind, Label string
	CallID          string
	Handover        string
	Status          JobStatus
	Detail          string // "exit code: 1"; "" while it is active
	By, Reason      string // who had it stopped, and why
	Started         int64  // milliseconds since 1970
	Finished        int64  // likewise; 0 while it is active
	Bytes           int64  // of its output so far
	Artifact        string // file with the whole output; "" if none was needed
	Stale           []string
}

// State is status and detail in brackets, as texts show them.
func (j *JobInfo) State() string {
	if j.Detail == "" {
		return string(j.Status)
	}
	return string(j.Status) + ", " + j.Detail
}

// Number is the number in a job's id, 0 if it has none.
func (j *JobInfo) Number() int {
	n, err := strconv.Atoi(j.ID[strings.LastIndexByte(j.ID, '-')+1:])
	if err != nil {
		return 0
	}
	return n
}

// applyJob folds the two events of jobs. A settled one is never replaced: the first
// outcome wins.
func (s *State) applyJob(ev *Event) {
	switch p := ev.Data.(type) {
	case JobStarted:
		s.Jobs = append(s.Jobs, JobInfo{ID: p.ID, Kind: p.Kind, Label: p.Label, CallID: p.CallID,
			Handover: p.Handover, Status: JobRunning, Started: ev.Time})
		if effect, ok := s.allowed[p.CallID]; ok {
			if s.effects == nil {
				s.effects = map[string]Effect{}
			}
			s.effects[p.ID] = effect
		}
	case JobSettled:
		i := slices.IndexFunc(s.Jobs, func(j JobInfo) bool { return j.ID == p.ID && j.Status.Active() })
		if i < 0 {
			return
		}
		s.Jobs = slices.Clone(s.Jobs) // copies of the state share it
		j := &s.Jobs[i]
		j.Status, j.Detail, j.By, j.Reason, j.Finished = p.Status, p.Detail, p.By, p.Reason, ev.Time
		j.Bytes, j.Artifact, j.Stale = p.Bytes, p.Artifact, p.Stale
		if _, ok := s.effects[p.ID]; ok {
			delete(s.effects, p.ID)
			s.Changes++
			s.ThisTurn.Work.settled(j, s.TurnOpen)
		}
	}
}

// lostJobs drafts the ends of the jobs that died with the process, and one note of
// them for the model's next step.
func lostJobs(f *fold) []Draft {
	var drafts []Draft
	var names []string
	for _, j := range f.state.Jobs {
		if j.Status.Active() {
			drafts = append(drafts, Draft{Data: JobSettled{ID: j.ID, Status: JobLost, Detail: "nobody saw its end"}})
			names = append(names, fmt.Sprintf("%s (%s)", j.ID, oneLineOf(j.Label)))
		}
	}
	if len(names) == 0 {
		return nil
	}
	text := "<notice>\nThese jobs are lost: dsh ended without warning, or the session was copied, while they ran. What they had put out is gone: " +
		strings.Join(names, ", ") + ". Look at what they left before relying on it; start them again if they are still wanted.\n</notice>"
	return append(drafts, Draft{Data: InboxSpliced{Target: NextStep, Start: len(f.inbox.step), Inserted: []llm.Message{{
		Role: llm.User, Content: []llm.Block{llm.TextBlock(text)}, ID: fmt.Sprintf("%s%d", lostNotice, f.next),
		Source: llm.Source{Kind: llm.FromPlugin, Plugin: "dsh", Form: FormJob}}}}})
}

// FormJob is the form of the source of a note about jobs.
const FormJob = "job"

// lostNotice begins the id of the note of lost jobs.
const lostNotice = "jobs-lost-"

// maxLabel is how much of a job's label the note of lost jobs has, in characters.
const maxLabel = 120

func oneLineOf(label string) string {
	line := []rune(strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(strings.Join(strings.Fields(label), " ")))
	if len(line) > maxLabel {
		return string(line[:maxLabel]) + "…"
	}
	return string(line)
}

// Word says how a job stands in a word or two, for people: running, exit 0, stopped.
func (j *JobInfo) Word() string {
	switch _, detail, _ := strings.Cut(j.Detail, ": "); {
	case j.Status == JobCompleted && detail != "":
		return "exit " + detail
	case j.Status == JobKilled && j.By != "":
		return "stopped"
	case j.Status == JobKilled && detail != "":
		return detail
	}
	return string(j.Status)
}

// Stopper is who had a job stopped, as people are told; "" if nobody did.
func (j *JobInfo) Stopper() string {
	return map[string]string{JobByUser: "by you", JobByModel: "by the model", JobByDsh: "with dsh"}[j.By]
}
