import { Icon } from '@/ui/icon';
import { figuresOf, type Rule } from './evidence';
import styles from './promotion.module.css';

const outcomes: Record<Rule['outcome'], { word: string; icon: 'check' | 'close' | 'history' | 'info' }> = {
  pass: { word: 'pass', icon: 'check' },
  fail: { word: 'fail', icon: 'close' },
  pending: { word: 'waiting', icon: 'history' },
  skipped: { word: 'skipped', icon: 'info' },
};

/** Every rule with what it found, what it wants and where the number comes from; those that failed first. */
export function RulesTable({ rules, label }: { rules: readonly Rule[]; label: string }) {
  const order = { fail: 0, pending: 1, pass: 2, skipped: 3 };
  const sorted = [...rules].sort((a, b) => order[a.outcome] - order[b.outcome]);
  return (
    <div className={styles.scroll} tabIndex={0} role="group" aria-label={label}>
      <table className={styles.table}>
        <caption className="visually-hidden">{label}</caption>
        <thead>
          <tr>
            <th scope="col">Outcome</th>
            <th scope="col">Rule</th>
            <th scope="col" className="numeric">
              Found
            </th>
            <th scope="col">Wanted</th>
            <th scope="col">Champion</th>
            <th scope="col">Origin</th>
          </tr>
        </thead>
        <tbody>
          {sorted.map((rule, index) => {
            const figures = figuresOf(rule.reason);
            return (
              <tr key={`${rule.rule}-${index}`}>
                <td>
                  <Outcome of={rule.outcome} />
                </td>
                <th scope="row" className="mono">
                  {rule.rule}
                </th>
                {figures ? (
                  <>
                    <td className="numeric" title={rule.reason}>
                      {figures.value}
                    </td>
                    <td>{figures.wanted || <span className="muted">a value</span>}</td>
                    <td>{figures.champion}</td>
                    <td>{figures.origin}</td>
                  </>
                ) : (
                  <td colSpan={4} className={styles.reason}>
                    {rule.reason}
                    {rule.code && rule.outcome !== 'pass' && (
                      <>
                        {' '}
                        <code className="muted">{rule.code}</code>
                      </>
                    )}
                  </td>
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

export function Outcome({ of }: { of: Rule['outcome'] }) {
  return (
    <span className={`${styles.outcome} ${styles[of]}`}>
      <Icon name={outcomes[of].icon} />
      {outcomes[of].word}
    </span>
  );
}

/** "passed", "failed: accuracy is 0.7 ..." in one line. */
export function verdictOutcome(verdict: 'passed' | 'failed' | 'pending'): Rule['outcome'] {
  return verdict === 'passed' ? 'pass' : verdict === 'failed' ? 'fail' : 'pending';
}
