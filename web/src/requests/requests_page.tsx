import { EmptyState } from '@/ui/states';

export function RequestsPage() {
  return (
    <div className="page">
      <h1>Pull requests</h1>
      <EmptyState icon="request" command="tarn pr list tarn://REPOSITORY">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}

export function RequestPage() {
  return (
    <div className="page">
      <h1>Pull request</h1>
      <EmptyState icon="request" command="tarn pr show tarn://REPOSITORY ID">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}
