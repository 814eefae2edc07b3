package group

import (
	"errors"
	"fmt"
	"os"
)

// GradientsFile opens the memory behind Gradients, for another process of this machine that fills
// them in this one's stead. It has the elements from its beginning on. The caller closes it. The error
// wraps errors.ErrUnsupported where there is no such memory.
func (w *Worker) GradientsFile() (*os.File, error) {
	if w.memory.vector == nil {
		return nil, fmt.Errorf("the gradients are in memory of this process alone: %w", errors.ErrUnsupported)
	}
	return w.memory.vector.File()
}
