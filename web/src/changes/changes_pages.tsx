import { EmptyState } from '@/ui/states';

export function ChangesPage() {
  return (
    <div className="page">
      <h1>Changes</h1>
      <EmptyState icon="diff" command="tarn diff tarn://REPOSITORY/BRANCH">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}

export function ComparePage() {
  return (
    <div className="page">
      <h1>Compare</h1>
      <EmptyState icon="diff" command="tarn diff tarn://REPOSITORY/LEFT tarn://REPOSITORY/RIGHT">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}
