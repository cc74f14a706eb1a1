import { EmptyState } from '@/ui/states';

export function RunsPage() {
  return (
    <div className="page">
      <h1>Runs</h1>
      <EmptyState icon="chart" command="tarn exp compare">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}
