import { Link } from '@tanstack/react-router';
import { EmptyState } from '@/ui/states';
import { buttonClass } from '@/ui/button';

export function NotFoundPage() {
  return (
    <div className="page">
      <h1 className="visually-hidden">Not found</h1>
      <EmptyState
        icon="search"
        action={
          <Link to="/" className={buttonClass()}>
            Repositories
          </Link>
        }
      >
        There is no page at this address.
      </EmptyState>
    </div>
  );
}
