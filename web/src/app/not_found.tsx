import { Link } from '@tanstack/react-router';
import { EmptyState } from '@/ui/states';
import { buttonClass } from '@/ui/button';

export function NotFoundPage() {
  return (
    <div className="page">
      <EmptyState icon="search" action={<Link to="/" className={buttonClass()}>Repositories</Link>}>
        There is no page at this address.
      </EmptyState>
    </div>
  );
}
