import { EmptyState } from '@/ui/states';

export function HistoryPage() {
  return (
    <div className="page">
      <h1>History</h1>
      <EmptyState icon="history" command="tarn log tarn://REPOSITORY/REF">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}

export function CommitPage() {
  return (
    <div className="page">
      <h1>Commit</h1>
      <EmptyState icon="commit" command="tarn show commit tarn://REPOSITORY/COMMIT">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}
