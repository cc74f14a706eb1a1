import { useState } from 'react';
import { Button, IconButton } from '@/ui/button';
import { Checkbox, Select, TextField } from '@/ui/field';
import { fieldOf, isNumber, listOf, metricsOf, withField, withMetric, withoutMetric } from './policy_document';
import { candidateWords } from './promotion_queries';
import styles from './promotion.module.css';

/** The document of a policy as a form: what it does not show stays as it is in the text. */
export function PolicyForm({ document, onChange }: { document: string; onChange: (document: string) => void }) {
  const text = (label: string, path: string[], help?: string) => (
    <TextField
      label={label}
      value={fieldOf(document, path)}
      onChange={(value) => onChange(withField(document, path, value))}
      {...(help ? { help } : {})}
      mono
    />
  );
  const list = (label: string, path: string[], help: string) => (
    <ListField
      key={path.join('.')}
      label={label}
      values={listOf(document, path)}
      help={help}
      onChange={(values) => onChange(withField(document, path, values))}
    />
  );
  const flag = (label: string, path: string[], isOn: boolean) => (
    <Checkbox
      checked={fieldOf(document, path) === '' ? isOn : fieldOf(document, path) === 'true'}
      onChange={(checked) => onChange(withField(document, path, checked))}
    >
      {label}
    </Checkbox>
  );
  const metrics = metricsOf(document);
  const metric = (index: number, path: string[], value: string | boolean) =>
    onChange(withField(document, ['metrics', index, ...path] as string[], value));
  return (
    <div className="stack">
      <div className={styles.pair}>
        {text('Destination', ['destination'], 'The branch that it protects')}
        {text('Alias', ['alias'], 'Moved by promotion and rollback only')}
      </div>
      <div className={styles.pair}>
        {text('Candidates', ['candidates'], 'Branches that may come')}
        {text('Required ancestor', ['require_ancestor'], 'In each candidate’s history')}
      </div>
      <fieldset className={styles.fieldset}>
        <legend>Metrics</legend>
        <div className={styles.scroll} tabIndex={0} role="group" aria-label="Metrics">
          <table className={styles.formTable}>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Goal</th>
                <th scope="col">At least</th>
                <th scope="col">At most</th>
                <th scope="col">Better than champion by</th>
                <th scope="col">Ranks</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {metrics.map((rule, index) => (
                <tr key={index}>
                  <td>
                    <TextField
                      hideLabel
                      label={`Name of metric ${index + 1}`}
                      value={rule.name}
                      onChange={(value) => metric(index, ['name'], value)}
                      mono
                    />
                  </td>
                  <td>
                    <Select
                      hideLabel
                      label={`Goal of ${rule.name}`}
                      value={rule.goal}
                      onChange={(value) => metric(index, ['goal'], value)}
                      options={[
                        { value: '', label: 'none' },
                        { value: 'max', label: 'max' },
                        { value: 'min', label: 'min' },
                      ]}
                    />
                  </td>
                  <td>
                    <NumberField
                      label={`${rule.name} at least`}
                      value={rule.min}
                      onChange={(value) => metric(index, ['min'], value)}
                    />
                  </td>
                  <td>
                    <NumberField
                      label={`${rule.name} at most`}
                      value={rule.max}
                      onChange={(value) => metric(index, ['max'], value)}
                    />
                  </td>
                  <td>
                    <NumberField
                      label={`${rule.name} better than the champion by`}
                      value={rule.minDelta}
                      onChange={(value) => metric(index, ['vs_champion', 'min_delta'], value)}
                    />
                  </td>
                  <td>
                    <Checkbox checked={rule.primary} onChange={(checked) => metric(index, ['primary'], checked || '')}>
                      <span className="visually-hidden">{rule.name} </span>first
                    </Checkbox>
                  </td>
                  <td>
                    <IconButton
                      icon="trash"
                      label={`Remove ${rule.name}`}
                      onPress={() => onChange(withoutMetric(document, index))}
                    />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <div>
          <Button icon="plus" onPress={() => onChange(withMetric(document))}>
            Add metric
          </Button>
        </div>
      </fieldset>
      <fieldset className={styles.fieldset}>
        <legend>Objects</legend>
        <div className={styles.pair}>
          {list('Required', ['objects', 'required'], 'Patterns; each must match an object')}
          {list('Forbidden', ['objects', 'forbid'], 'Patterns that a candidate may not bring')}
        </div>
        <div className={styles.pair}>
          {list('May not be removed', ['objects', 'keep'], 'Patterns')}
          {text('Total size at most', ['objects', 'max_total_bytes'], 'Such as 2GiB')}
        </div>
      </fieldset>
      <fieldset className={styles.fieldset}>
        <legend>Checks and approvals</legend>
        <div className={styles.pair}>
          {list('Checks', ['checks', 'required'], 'Names of jobs that report')}
          {text('Checks wait at most', ['checks', 'timeout'], 'Such as 2h')}
        </div>
        <div className={styles.pair}>
          {text('Approvals', ['approvals', 'count'], 'How many people must agree')}
          <div className="stack-tight">
            {flag('Not by its author', ['approvals', 'not_author'], true)}
            {flag('Not by who began the promotion', ['approvals', 'not_promoter'], true)}
            {flag('A rejected commit stays out', ['approvals', 'sticky_reject'], false)}
          </div>
        </div>
        <div className={styles.pair}>
          {text('Tag the result', ['after', 'tag'], 'Such as model-{date}-{short}')}
          <div />
        </div>
      </fieldset>
      <p className="muted">What this form does not show stays as it is in the text.</p>
    </div>
  );
}

/** A number, written into the document when it is one: "0." and "-" are on their way to one. */
function NumberField({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  const [typed, setTyped] = useState<string | null>(null);
  const shown = typed ?? value;
  const wrong = shown.trim() !== '' && !isNumber(shown);
  return (
    <span
      onBlur={() => {
        if (!wrong) setTyped(null);
      }}
    >
      <TextField
        hideLabel
        label={label}
        value={shown}
        mono
        error={wrong ? 'No number' : undefined}
        onChange={(next) => {
          setTyped(next);
          if (next.trim() === '' || (isNumber(next) && !next.endsWith('.'))) onChange(next.trim());
        }}
      />
    </span>
  );
}

/** Texts separated by commas. */
function ListField({
  label,
  values,
  help,
  onChange,
}: {
  label: string;
  values: string[];
  help: string;
  onChange: (values: string[]) => void;
}) {
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <span onBlur={() => setTyped(null)}>
      <TextField
        label={label}
        value={typed ?? values.join(', ')}
        mono
        help={help}
        onChange={(next) => {
          setTyped(next);
          onChange(candidateWords(next));
        }}
      />
    </span>
  );
}
