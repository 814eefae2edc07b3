// Package saved keeps trained models in files.
//
// A Model is a net with its weights and all that is needed to use it: the names of the classes,
// if it has any, and how a sample is prepared. WriteFile puts it into one file, Open makes it
// usable again without any code of the one who trained it; Predictor then gives the classes'
// probabilities for samples, or the net's outputs.
// WriteNPZ and ReadNPZ exchange the weights alone with NumPy: an array per weight, under the
// weight's name.
//
// The file is a bundle (a JSON header, the weights, a checksum); its header holds the net as
// nn describes it. It is written under a temporary name and renamed when it is complete, and
// equal models give equal bytes.
//
// A file is not trusted: sizes are compared with its real length before anything is allocated,
// the description is bounded and checked like one built in Go, weights must be exactly those
// that the description asks for, and nothing is executed. What is wrong is an *Error with the
// file's path.
package saved
