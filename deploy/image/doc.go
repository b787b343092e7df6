// Package image holds what the Dockerfile at the top of the tree needs; its tests build the image's final stage and run it.
package image
