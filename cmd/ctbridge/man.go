package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages, one of each verb",
		Long: `Write the manual pages to FOLDER, which is made where it is missing.

  ctbridge man /usr/local/share/man/man1 && man ctbridge-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return &usageError{err: err}
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			day := time.Unix(0, 0).UTC() // the same pages for the same build
			header := &doc.GenManHeader{Title: "CTBRIDGE", Section: "1", Source: "ctbridge " + buildVersion(), Manual: "ctbridge", Date: &day}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("manual pages: %w", err)
			}
			return nil
		},
	}
}
