package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dsh/internal/config"
	"dsh/internal/early"
	"dsh/internal/llm"
	"dsh/internal/llm/llmtest"
	"dsh/internal/llm/openai"
	"dsh/internal/loop"
	"dsh/internal/session"
)

// scriptProvider is the provider of --model script:FILE: a file plays the model.
const scriptProvider = "script"

// outputShare bounds an answer: a fifth of the window, which compaction keeps free, so
// that prompt and answer fit together. Providers refuse a request whose limit does not.
const outputShare = 5

// route resolves the model: the flag, the session that is continued, the settings,
// in this order.
func (e *engine) route(settings *config.Loaded, o engineOptions, resume *session.Snapshot) (loop.Route, error) {
	chosen := settings
	if resume != nil && !o.flags["model"] {
		if h := resume.State().Chosen; h != nil {
			again := *settings
			again.Model = modelName(h.Config)
			if _, _, _, err := again.Route(); err == nil {
				chosen = &again
			} else {
				e.notes = append(e.notes, fmt.Sprintf("the session's model %s is not known here: going on with %s", again.Model, settings.Model))
			}
		}
	}
	return e.modelRoute(chosen)
}

// modelRoute reaches the model that the settings name.
func (e *engine) modelRoute(settings *config.Loaded) (loop.Route, error) {
	name, provider, model, err := settings.Route()
	if err != nil {
		return loop.Route{}, err
	}
	if name == scriptProvider {
		return e.scriptRoute(model, settings.ContextWindow)
	}
	info, known := llm.Lookup(name, model)
	if !known && name == "deepseek" && strings.HasPrefix(provider.BaseURL, "https://api.deepseek.com") {
		return loop.Route{}, unknownModel(name, model)
	}
	if known && settings.Effort != "" && !slices.Contains(info.Efforts, settings.Effort) {
		return loop.Route{}, usage(fmt.Errorf("%s knows no effort %q: use one of %s", info.Name, settings.Effort, strings.Join(info.Efforts, ", ")))
	}
	key, origin, err := settings.Key(name)
	if err != nil {
		return loop.Route{}, err
	}
	if risk := settings.PlainHTTP(name); risk != "" {
		e.notes = append(e.notes, risk)
	}
	if key == "" {
		key = "none" // an endpoint that wants no key gets something that is none
	}
	client, err := openai.New(openai.Options{BaseURL: provider.BaseURL, Key: key, KeyName: origin.Name,
		Profile: profileFor(name, provider.BaseURL), UserAgent: "dsh/" + early.Version})
	if err != nil {
		return loop.Route{}, usage(err)
	}
	r := windowed(loop.Route{Model: client, Config: llm.Config{Provider: name, Model: model}},
		cmp.Or(settings.ContextWindow, info.Window), info.MaxOutput)
	if known {
		r.Config.Model = info.Name
	}
	if settings.Effort != "" {
		r.Config.ReasoningEffort = settings.Effort
	} else {
		r.Defaults = append(r.Defaults, "reasoningEffort")
	}
	return r, nil
}

// fallbacks reaches the models that stand in for one that fails. One that cannot be
// reached is left out, and said so: the session can do without.
func (e *engine) fallbacks(settings *config.Loaded) (routes []loop.Route) {
	for _, name := range settings.Fallback {
		other := *settings
		other.Model, other.Effort = name, ""
		route, err := e.modelRoute(&other)
		if err != nil {
			e.notes = append(e.notes, fmt.Sprintf("the fallback %s is left out: %v", name, err))
			continue
		}
		routes = append(routes, route)
	}
	return routes
}

// windowed gives a route its window and the limit of an answer; 0 is unknown.
func windowed(r loop.Route, window, maxOutput int) loop.Route {
	r.Window, r.Config.MaxTokens = window, maxOutput
	if share := window / outputShare; share > 0 && (maxOutput == 0 || share < maxOutput) {
		r.Config.MaxTokens = share
	}
	if r.Config.MaxTokens > 0 {
		r.Defaults = append(r.Defaults, "maxTokens")
	}
	return r
}

// profileFor goes by the name where the user speaks of DeepSeek: DEEPSEEK_BASE_URL
// points to a gateway to its models. OPENAI_BASE_URL points to anything that speaks
// the protocol, and its host decides.
func profileFor(name, baseURL string) openai.Profile {
	if name == "deepseek" {
		baseURL = ""
	}
	return openai.ProfileFor(name, baseURL)
}

// scriptRoute serves a script in this process, over pipes, through the real client.
func (e *engine) scriptRoute(file string, window int) (loop.Route, error) {
	if file == "" {
		return loop.Route{}, usage(errors.New("script: names no file: write script:FILE"))
	}
	file, err := filepath.Abs(file) // the session may be continued from elsewhere
	if err != nil {
		return loop.Route{}, err
	}
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return loop.Route{}, usage(fmt.Errorf("there is no script %s: choose another model with -m", file))
	case err == nil && info.IsDir():
		return loop.Route{}, usage(fmt.Errorf("script %s is a directory: name a file in it", file))
	}
	script, err := llmtest.Load(file)
	if err != nil {
		return loop.Route{}, usage(err)
	}
	e.script = llmtest.NewServer(script)
	e.stop = append(e.stop, e.script.Close)
	profile, _ := openai.ProfileNamed("deepseek") // the validator's default dialect
	client, err := openai.New(openai.Options{BaseURL: llmtest.PipeURL, Key: "script-key",
		Profile: profile, Transport: e.script.Pipe(), UserAgent: "dsh/" + early.Version})
	if err != nil {
		return loop.Route{}, err
	}
	return windowed(loop.Route{Model: client, Config: llm.Config{Provider: scriptProvider, Model: file}}, window, 0), nil
}

// modelName is a logged route as -m takes it. The original's name for DeepSeek's own
// endpoint is accepted.
func modelName(c llm.Config) string {
	switch c.Provider {
	case scriptProvider:
		return "script:" + c.Model
	case "deepseek-official":
		return "deepseek/" + c.Model
	}
	return c.Provider + "/" + c.Model
}

func unknownModel(provider, model string) error {
	var names []string
	for _, m := range llm.Models() {
		if m.Provider == provider {
			names = append(names, m.Name)
		}
	}
	return usage(fmt.Errorf("unknown model %q: use one of %s, or provider/name (dsh models lists all)", model, strings.Join(names, ", ")))
}
