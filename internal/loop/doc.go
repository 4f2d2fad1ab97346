// Package loop is the agent: the inbox's doors, the driver that runs turns, steps
// and requests, the scheduler that runs tool calls, and the agent's
// view of its jobs.
//
// It imports session, llm, tools, policy, jobs and prompt. It never imports the
// screen, never reads settings, and knows no provider: it declares the Model it needs.
//
// Start reading at agent.go, then driver.go, turn.go, step.go in the order in which
// they call one another.
package loop
