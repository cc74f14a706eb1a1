import { EmptyState } from '@/ui/states';

export function SettingsPage() {
  return (
    <div className="page">
      <h1>Settings</h1>
      <EmptyState icon="settings" command="tarn branch-protect list tarn://REPOSITORY">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}
