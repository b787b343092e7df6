package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// CheckFolders finds folders at the top that are not among the known ones: a new one is a decision, not an accident.
func CheckFolders(t *Tree, known []string) []string {
	var findings []string
	for _, folder := range t.Folders {
		if !slices.Contains(known, folder) {
			findings = append(findings, fmt.Sprintf("%s: not one of the folders at the top (%s)", folder, strings.Join(known, ", ")))
		}
	}
	return findings
}

// CheckInit finds init functions outside of test files: what happens before main has no caller, no order that a reader sees, and no error.
func CheckInit(t *Tree) []string {
	var findings []string
	for _, f := range t.Files {
		for _, fn := range f.functions() {
			if !f.Test && fn.Name.Name == "init" && fn.Recv == nil {
				findings = append(findings, f.at(fn.Pos())+": init function: pass what it prepares to a constructor")
			}
		}
	}
	return findings
}

// CheckSleep finds time.Sleep: a test that sleeps is slow or flaky, and production code that sleeps cannot be stopped.
func CheckSleep(t *Tree) []string {
	var findings []string
	for _, f := range t.Files {
		name := f.nameOf("time")
		if name == "" {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == name {
					findings = append(findings, f.at(s.Pos())+": time.Sleep: wait for a fact, or for a timer and a context")
				}
			}
			return true
		})
	}
	return findings
}

// nameOf gives the name under which a file imports a package of the standard library, "" if it does not.
func (f *File) nameOf(imported string) string {
	for i, spec := range f.AST.Imports {
		if f.Imports[i] != imported {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return imported[strings.LastIndexByte(imported, '/')+1:]
	}
	return ""
}

// CheckDocs finds packages without a package comment. Packages of test files alone need none.
func CheckDocs(t *Tree) []string {
	documented := make(map[string]bool)
	var folders []string
	for _, f := range t.Files {
		if f.Test {
			continue
		}
		if !slices.Contains(folders, f.Folder) {
			folders = append(folders, f.Folder)
		}
		documented[f.Folder] = documented[f.Folder] || f.AST.Doc != nil
	}
	var findings []string
	for _, folder := range folders {
		if !documented[folder] {
			findings = append(findings, folder+": no package comment: say what it is for and what it guarantees")
		}
	}
	return findings
}
