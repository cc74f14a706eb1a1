export function ObjectPanel(_: { repository: string; at: string; path: string; refused: string | undefined; onClose: () => void; inDialog?: boolean }) { return null; }
