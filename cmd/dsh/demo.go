package main

import "github.com/spf13/cobra"

func newDemoCommand(s streams) *cobra.Command { return &cobra.Command{Use: "demo"} }
