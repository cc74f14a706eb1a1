import { Dialog } from '@/ui/dialog';
import type { Shortcut } from './shortcuts';
import styles from './shortcut_help.module.css';

const inTables: [string, string][] = [
  ['↑ ↓ Home End', 'move in a table'],
  ['Enter', 'open the row'],
  ['Space', 'select the row'],
  ['Shift ↑ ↓', 'select rows'],
  ['j k', 'next and previous object of a comparison'],
  ['v', 'mark the object as seen'],
  ['Escape', 'close a dialog, a menu or a panel'],
];

export function ShortcutHelp({
  isOpen,
  onClose,
  shortcuts,
}: {
  isOpen: boolean;
  onClose: () => void;
  shortcuts: readonly Shortcut[];
}) {
  const rows: [string, string][] = [
    ...shortcuts.map((item): [string, string] => [item.keys.replace('mod+k', 'Ctrl K'), item.does]),
    ...inTables,
  ];
  return (
    <Dialog title="Keyboard" isOpen={isOpen} onClose={onClose}>
      <table className={styles.keys}>
        <thead className="visually-hidden">
          <tr>
            <th>Keys</th>
            <th>Effect</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([keys, does]) => (
            <tr key={keys}>
              <td>
                {keys.split(' ').map((key) => (
                  <kbd key={key} className={styles.key}>
                    {key}
                  </kbd>
                ))}
              </td>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
