import { EmptyState } from '@/ui/states';

export function AutomationPage() {
  return (
    <div className="page">
      <h1>Automation</h1>
      <EmptyState icon="automation" command="tarn actions runs list tarn://REPOSITORY">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}
