import { EmptyState } from '@/ui/states';

export function PromotionsPage() {
  return (
    <div className="page">
      <h1>Promotion</h1>
      <EmptyState icon="promote" command="tarn promote">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}
