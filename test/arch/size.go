package arch

import (
	"fmt"
	"go/ast"
	"slices"
)

// The hard limits. A function fits a screen, a file is read in one go. The usual sizes are far below them: see Sizes.
const (
	MaxFunction = 80  // lines, from func to the closing brace
	MaxFile     = 400 // lines
)

// CheckSizes finds functions and files over the limits, outside of test files.
func CheckSizes(t *Tree) []string {
	var findings []string
	for _, f := range t.Files {
		if f.Test {
			continue
		}
		if f.Lines > MaxFile {
			findings = append(findings, fmt.Sprintf("%s: %d lines, at most %d: split it by what its parts are about", f.Path, f.Lines, MaxFile))
		}
		for _, fn := range f.functions() {
			if n := f.length(fn); n > MaxFunction {
				findings = append(findings, fmt.Sprintf("%s: %s has %d lines, at most %d", f.at(fn.Pos()), fn.Name.Name, n, MaxFunction))
			}
		}
	}
	return findings
}

func (f *File) functions() []*ast.FuncDecl {
	var out []*ast.FuncDecl
	for _, d := range f.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			out = append(out, fn)
		}
	}
	return out
}

func (f *File) length(fn *ast.FuncDecl) int {
	return f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1
}

// Sizes describes how long functions, files and packages are, in lines: half of them, and nine of ten, are at most so long.
func Sizes(t *Tree) string {
	var functions, files, tests []int
	packages := make(map[string]int)
	for _, f := range t.Files {
		if f.Test {
			tests = append(tests, f.Lines)
			continue
		}
		files = append(files, f.Lines)
		packages[f.Folder] += f.Lines
		for _, fn := range f.functions() {
			functions = append(functions, f.length(fn))
		}
	}
	largest, lines := "", 0
	for folder, n := range packages {
		if n > lines || n == lines && folder < largest {
			largest, lines = folder, n
		}
	}
	out := fmt.Sprintf("functions %s\nfiles     %s\ntests     %s\n", describe(functions), describe(files), describe(tests))
	return out + fmt.Sprintf("packages  %d; largest %s with %d lines\n", len(packages), largest, lines)
}

func describe(sizes []int) string {
	if len(sizes) == 0 {
		return "none"
	}
	slices.Sort(sizes)
	n, total := len(sizes), 0
	for _, s := range sizes {
		total += s
	}
	return fmt.Sprintf("%d: median %d, p90 %d, longest %d, together %d", n, sizes[n/2], sizes[n*9/10], sizes[n-1], total)
}
