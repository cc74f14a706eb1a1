import { EmptyState } from '@/ui/states';

export function BranchesPage() {
  return (
    <div className="page">
      <h1>Branches, tags and aliases</h1>
      <EmptyState icon="branch" command="tarn branch list tarn://REPOSITORY">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}
