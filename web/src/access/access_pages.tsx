import { EmptyState } from '@/ui/states';

export function UsersPage() {
  return (
    <div className="page">
      <h1>Users</h1>
      <EmptyState icon="user" command="tarn auth users list">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}

export function GroupsPage() {
  return (
    <div className="page">
      <h1>Groups</h1>
      <EmptyState icon="user" command="tarn auth groups list">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}

export function PoliciesPage() {
  return (
    <div className="page">
      <h1>Policies</h1>
      <EmptyState icon="user" command="tarn auth policies list">This page is not in this version; the command does it.</EmptyState>
    </div>
  );
}
