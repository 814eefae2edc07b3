package field
import "context"
func (s *solver) certify(ctx context.Context, p *Plan) Certificate { return Certificate{} }
