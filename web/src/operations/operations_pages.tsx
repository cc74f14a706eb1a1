import { EmptyState } from '@/ui/states';

export function OperationsPage() {
  return (
    <div className="page">
      <h1>Operations</h1>
      <EmptyState icon="server" command="tarn op list">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}

export function StoragePage() {
  return (
    <div className="page">
      <h1>Storage</h1>
      <EmptyState icon="server" command="tarn gc plan">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}

export function SettingsPage() {
  return (
    <div className="page">
      <h1>Settings</h1>
      <EmptyState icon="settings" command="tarn branch-protect list tarn://REPOSITORY">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}
