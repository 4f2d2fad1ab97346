package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"dsh/internal/config"
	"dsh/internal/early"
	"dsh/internal/llm"
	"dsh/internal/llm/openai"
	"dsh/internal/termtext"
)

const (
	keyTimeout   = 20 * time.Second       // of the request that tries a key
	localTimeout = 300 * time.Millisecond // for a server on this machine to answer
	namesShown   = 4                      // models named in one line
)

// localServers are where model servers of this machine usually listen.
var localServers = []string{"http://127.0.0.1:11434/v1", "http://127.0.0.1:1234/v1", "http://127.0.0.1:8080/v1"}

// errLeave is the user's wish to leave the dialog.
var errLeave = &exitError{code: exitUsage}

// login is the dialog in which the user names a key or an endpoint. It is lines on
// the ordinary screen, before anything else takes the terminal.
type login struct {
	t        *term.Terminal
	paths    config.Paths
	settings *config.Loaded
	local    []string // base URLs to try
	models   func(ctx context.Context, baseURL, key string) ([]string, error)
}

func newLoginCommand(s streams) *cobra.Command {
	var list bool
	cmd := &cobra.Command{
		Use:   "login [PROVIDER]",
		Short: "Store an API key, for you alone",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return listKeys(s)
			}
			return withLogin(s, &engineOptions{}, func(l *login) error { return l.replaceKey(cmd.Context(), args) })
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "show which providers have a key and where it is, but no key")
	return cmd
}

// replaceKey asks for the key of the named provider, or of the one in use.
func (l *login) replaceKey(ctx context.Context, args []string) error {
	provider, _, _, err := l.settings.Route()
	if len(args) > 0 {
		provider, err = args[0], nil
	}
	if err != nil {
		return err
	}
	if _, known := l.settings.Providers[provider]; !known {
		return usage(fmt.Errorf("no provider is called %q: add [provider.%s] with a base_url to your settings", provider, provider))
	}
	_, err = l.askKey(ctx, provider)
	return err
}

// setUp is the first run: what the model needs is missing, and is asked for.
func setUp(ctx context.Context, s streams, o *engineOptions, missing *config.MissingKeyError) error {
	return withLogin(s, o, func(l *login) error { return l.firstRun(ctx, missing) })
}

// withLogin takes the terminal, which is given back as it was.
func withLogin(s streams, o *engineOptions, run func(*login) error) (err error) {
	in, ok := s.in.(*os.File)
	if !ok || !isTerminal(in) {
		return usage(errors.New("a key is typed on a terminal: without one, export it"))
	}
	cwd, err := workingDir(o.dir)
	if err != nil {
		return err
	}
	paths, err := config.Resolve(s.getenv, cwd)
	if err != nil {
		return usage(err)
	}
	settings, err := config.Load(paths, s.getenv, o.settings(), o.trust)
	if err != nil {
		return err
	}
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("the terminal cannot be used: %w", err)
	}
	defer func() { err = errors.Join(err, term.Restore(int(in.Fd()), state)) }()
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, s.err}, "")
	return run(&login{t: t, paths: paths, settings: settings, local: localServers, models: listModels})
}

// listModels asks an endpoint what it has, which shows that the key is good.
func listModels(ctx context.Context, baseURL, key string) ([]string, error) {
	if key == "" {
		key = "none"
	}
	profile, _ := openai.ProfileNamed("lenient")
	client, err := openai.New(openai.Options{BaseURL: baseURL, Key: key, KeyName: "it", Profile: profile, UserAgent: "dsh/" + early.Version})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.Models(ctx)
}

// localServer is a server on this machine that answered.
type localServer struct {
	url    string
	models []string
}

// firstRun offers the ways to a model until one of them works.
func (l *login) firstRun(ctx context.Context, missing *config.MissingKeyError) error {
	found := l.probe(ctx)
	l.say("dsh %s", early.Version)
	l.say("\nNo API key for %s yet. Nothing has been sent to any provider.\n", missing.Provider)
	for {
		choice, err := l.choose(missing, found)
		switch {
		case err != nil:
			return err
		case choice == 1:
			done, err := l.askKey(ctx, missing.Provider)
			if done || err != nil {
				return err
			}
		case choice == 2:
			return missing
		case choice == 3:
			done, err := l.askEndpoint(ctx)
			if done || err != nil {
				return err
			}
		case choice == 4:
			return errLeave
		default:
			done, err := l.useLocal(found[choice-5])
			if done || err != nil {
				return err
			}
		}
	}
}

func (l *login) choose(missing *config.MissingKeyError, found []localServer) (int, error) {
	rows := [][2]string{
		{"Paste the key", "stored in a file for you alone"},
		{"Use $" + missing.Variable, "export it and start dsh again"},
		{"Another endpoint", "anything that speaks OpenAI's chat completions"},
		{"Quit", ""},
	}
	for _, f := range found {
		rows = append(rows, [2]string{"The server on this machine", f.url + ": " + names(f.models)})
	}
	for i, row := range rows {
		l.say("  %d  %-28s %s", i+1, row[0], row[1])
	}
	if missing.Provider == "deepseek" {
		l.say("\nA key comes from https://platform.deepseek.com/api_keys")
	}
	for {
		text, err := l.line(fmt.Sprintf("\n1-%d, then enter: ", len(rows)))
		if err != nil {
			return 0, err
		}
		var n int
		if _, err := fmt.Sscan(text, &n); err == nil && n >= 1 && n <= len(rows) {
			return n, nil
		}
	}
}

// askKey asks for a key until one is accepted. An empty one goes back, not done.
func (l *login) askKey(ctx context.Context, provider string) (done bool, err error) {
	for {
		text, err := l.secret("Key, hidden (empty goes back): ")
		if err != nil || strings.TrimSpace(text) == "" {
			return false, err
		}
		key, err := config.ParseKey(text)
		if err != nil {
			l.say("%v.", err)
			continue
		}
		if !l.accepted(ctx, l.settings.Providers[provider].BaseURL, key) {
			continue
		}
		if err := config.SaveKey(l.paths.Credentials, provider, key); err != nil {
			return false, err
		}
		l.say("Stored in %s. `dsh login %s` changes it, `dsh logout %[2]s` removes it.\n", l.paths.Credentials, provider)
		return true, nil
	}
}

// accepted tries a key. One that could not be tried is taken: the user may be
// offline.
func (l *login) accepted(ctx context.Context, baseURL, key string) bool {
	models, err := l.try(ctx, baseURL, key)
	var failure *llm.Failure
	switch {
	case err == nil:
		l.say("ok: %s.", names(models))
	case errors.As(err, &failure) && failure.Code == llm.CodeAuth:
		l.say("This key is not accepted (%d).", failure.Status)
		return false
	case errors.As(err, &failure) && failure.Code == llm.CodeQuota:
		l.say("The key is good, but the account has no balance (%d).", failure.Status)
	default:
		l.say("It could not be tried: %v.", err)
	}
	return true
}

func (l *login) try(ctx context.Context, baseURL, key string) ([]string, error) {
	l.say("Trying it at %s ...", baseURL)
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	return l.models(ctx, baseURL, key)
}

// askEndpoint asks for an endpoint of the user's, and for the model there.
func (l *login) askEndpoint(ctx context.Context) (done bool, err error) {
	url, err := l.line("Base URL, such as https://host/v1 (empty goes back): ")
	if err != nil || url == "" {
		return false, err
	}
	text, err := l.secret("Key, hidden (empty if it wants none): ")
	if err != nil {
		return false, err
	}
	key, err := config.ParseKey(text)
	if err != nil {
		l.say("%v.", err)
		return false, nil
	}
	models, err := l.try(ctx, url, key)
	if err != nil {
		l.say("It does not answer as it should: %v.", err)
		return false, nil
	}
	model, err := l.pick(models)
	if err != nil || model == "" {
		return false, err
	}
	return l.use("custom", url, model, key)
}

func (l *login) useLocal(s localServer) (done bool, err error) {
	model, err := l.pick(s.models)
	if err != nil || model == "" {
		return false, err
	}
	return l.use("local", s.url, model, "")
}

// pick asks for one of the models; "" goes back.
func (l *login) pick(models []string) (string, error) {
	if len(models) == 1 {
		return models[0], nil
	}
	for _, m := range models {
		l.say("  %s", m)
	}
	for {
		name, err := l.line("Model (empty goes back): ")
		if err != nil || name == "" || len(models) == 0 || slices.Contains(models, name) {
			return name, err
		}
		l.say("It has no model %q.", name)
	}
}

// use stores the endpoint as the provider name, and its model as the user's.
func (l *login) use(name, url, model, key string) (done bool, err error) {
	model = name + "/" + model
	chosen, known := l.settings.Origin("model"), l.settings.Providers[name].BaseURL != ""
	if known {
		return false, usage(fmt.Errorf("your settings have a [provider.%s] already (%s): change it there, or choose it with -m %s", name, l.paths.UserConfig, model))
	}
	stored := model
	if chosen.Layer != config.Default {
		stored = ""
	}
	if err := config.SaveModel(l.paths.UserConfig, stored, name, url, key != ""); err != nil {
		return false, err
	}
	if key != "" {
		if err := config.SaveKey(l.paths.Credentials, name, key); err != nil {
			return false, err
		}
	}
	l.say("Stored in %s.\n", l.paths.UserConfig)
	if stored == "" {
		return false, usage(fmt.Errorf("the model is chosen by %s: change it there to %s, or start with -m %s", chosen, model, model))
	}
	return true, nil
}

// probe asks the usual ports of this machine, all at once.
func (l *login) probe(ctx context.Context) []localServer {
	ctx, cancel := context.WithTimeout(ctx, localTimeout)
	defer cancel()
	answers := make([]localServer, len(l.local))
	var wg sync.WaitGroup
	for i, url := range l.local {
		wg.Go(func() {
			if models, err := l.models(ctx, url, ""); err == nil && len(models) > 0 {
				answers[i] = localServer{url, models}
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(answers, func(s localServer) bool { return s.url == "" })
}

// names is a few of the models' names, which a server chose.
func names(models []string) string {
	if len(models) == 0 {
		return "it names no models"
	}
	more := ""
	if n := len(models) - namesShown; n > 0 {
		models, more = models[:namesShown], fmt.Sprintf(" and %d more", n)
	}
	return termtext.Line(strings.Join(models, ", ")) + more
}

func (l *login) say(format string, args ...any) { fmt.Fprintf(l.t, format+"\n", args...) }

// line reads a line. The end of the input and ctrl+c leave.
func (l *login) line(prompt string) (string, error) {
	l.t.SetPrompt(prompt)
	text, err := l.t.ReadLine()
	l.t.SetPrompt("")
	return strings.TrimSpace(text), left(err)
}

func (l *login) secret(prompt string) (string, error) {
	text, err := l.t.ReadPassword(prompt)
	return text, left(err)
}

func left(err error) error {
	if errors.Is(err, io.EOF) {
		return errLeave
	}
	return err
}
