import { EmptyState } from '@/ui/states';

export function ConnectPage() {
  return (
    <div className="page">
      <h1>Connect</h1>
      <EmptyState icon="plug" command="tarn doctor">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}
