import { Component, type ReactNode } from 'react';
import { objectUrl } from '@/api/client';
import { buttonClass } from '@/ui/button';
import { EmptyState } from '@/ui/states';
import type { Shown } from './object_bytes';

/** A file that is broken, or that a viewer does not understand, says so and leaves the page as it is. */
export class PreviewBoundary extends Component<{ shown: Shown; children: ReactNode }, { error: Error | null }> {
  override state = { error: null };
  static getDerivedStateFromError(error: Error) {
    return { error };
  }
  override render() {
    const error: Error | null = this.state.error;
    return error === null ? this.props.children : <Unreadable shown={this.props.shown} error={error} />;
  }
}

export function Unreadable({ shown, error }: { shown: Shown; error: Error }) {
  return (
    <EmptyState
      icon="error"
      action={
        <a className={buttonClass()} href={objectUrl(shown.repository, shown.ref, shown.path)} download>
          Download
        </a>
      }
    >
      This object cannot be shown: {error.message}
    </EmptyState>
  );
}
