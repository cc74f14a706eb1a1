import { describe, expect, it } from 'vitest';
import { evidenceOf, figuresOf, winnerOf } from './evidence';
import { diffLines } from './line_diff';
import {
  fieldOf,
  isEditable,
  isNumber,
  listOf,
  metricsOf,
  withField,
  withMetric,
  withoutMetric,
} from './policy_document';
import { candidateWords } from './promotion_queries';

describe('figures of a rule', () => {
  it('reads value, origin, champion and what is wanted', () => {
    expect(figuresOf('accuracy is 0.8293 (api), wanted at least 0.72')).toEqual({
      value: '0.8293',
      origin: 'api',
      champion: '',
      wanted: 'at least 0.72',
    });
    expect(figuresOf("accuracy is 0.7426, the champion's 0.8293: -0.0867 better, wanted at least 0.001")).toEqual({
      value: '0.7426',
      origin: '',
      champion: '0.8293 (-0.0867 better)',
      wanted: 'at least 0.001',
    });
    expect(figuresOf('loss is NaN (file:metrics/m.json)')?.value).toBe('NaN');
    const measured = figuresOf('accuracy is 0.982 (500 examples) (evaluation:digits), wanted at least 0.6');
    expect(measured?.value).toBe('0.982 (500 examples)');
    expect(measured?.origin).toBe('evaluation:digits');
    expect(figuresOf('accuracy is 0.99 ± 0.01 (n=5) (api), wanted at least 0.6')?.value).toBe('0.99 ± 0.01 (n=5)');
  });
  it('leaves other reasons as they are', () => {
    expect(figuresOf('there is artifacts/model.pkl')).toBeNull();
    expect(figuresOf('0 of 1 approvals')).toBeNull();
  });
  it('takes evidence with candidates alone', () => {
    expect(evidenceOf({ evidence: {} as never })).toBeNull();
    expect(evidenceOf({ evidence: { candidates: [] } as never })).not.toBeNull();
  });
});

describe('the winner of a promotion', () => {
  const review = {
    values: { accuracy: { candidate: '0.9', champion: '0.75' }, loss: { candidate: '0.1', champion: null }, new: {} },
  } as never;
  it('has its values beside those of the champion', () => {
    expect(winnerOf({ winner: { ref: 'exp-2', commit: 'c' }, review })).toEqual({
      candidate: 'exp-2',
      values: [
        { name: 'accuracy', value: '0.9', before: '0.75' },
        { name: 'loss', value: '0.1', before: undefined },
      ],
    });
  });
  it('is nothing of a rollback, and before one won', () => {
    expect(winnerOf({ winner: { ref: 'exp-2' }, undoes: 'p1', review })).toBeNull();
    expect(winnerOf({ review })).toBeNull();
    expect(winnerOf({ winner: { ref: 'exp-2' } })).toEqual({ candidate: 'exp-2', values: [] });
  });
});

describe('the form of a policy', () => {
  const text =
    '# the gate\ndestination: main\nmetrics:\n  - {name: accuracy, goal: max, min: 0.6} # from the paper\nafter: {losers: {expire: 14d}}\n';
  it('changes one member and keeps comments and the rest', () => {
    const next = withField(text, ['alias'], 'champion');
    expect(next).toContain('# the gate');
    expect(next).toContain('# from the paper');
    expect(next).toContain('losers: { expire: 14d }');
    expect(fieldOf(next, ['alias'])).toBe('champion');
  });
  it('writes numbers as numbers and lists in one line', () => {
    const next = withField(withField(text, ['approvals', 'count'], '2'), ['objects', 'required'], ['a/**', 'b']);
    expect(next).toContain('count: 2\n');
    expect(listOf(next, ['objects', 'required'])).toEqual(['a/**', 'b']);
    expect(next).toMatch(/required: \[ ?a\/\*\*, b ?\]/);
  });
  it('takes finite numbers only', () => {
    expect(['0.5', ' -1 ', '1e3'].every(isNumber)).toBe(true);
    expect(['', ' ', 'nan', 'NaN', 'Infinity', '-Infinity', '1e999', '1,5', 'x'].some(isNumber)).toBe(false);
    expect(withField(text, ['approvals', 'count'], '1e999')).not.toContain('inf');
  });
  it('removes what is emptied, with maps that are then empty', () => {
    const next = withField(withField(text, ['approvals', 'count'], '2'), ['approvals', 'count'], '');
    expect(next).not.toContain('approvals');
  });
  it('edits metrics', () => {
    const next = withField(withMetric(text), ['metrics', 1, 'vs_champion', 'min_delta'], '0.005');
    expect(metricsOf(next)).toEqual([
      { name: 'accuracy', goal: 'max', min: '0.6', max: '', minDelta: '', primary: false },
      { name: 'accuracy', goal: 'max', min: '', max: '', minDelta: '0.005', primary: false },
    ]);
    expect(metricsOf(withoutMetric(withoutMetric(next, 1), 0))).toEqual([]);
  });
  it('leaves a text alone that is no map', () => {
    expect(isEditable('a: [')).toBe(false);
    expect(isEditable('- a')).toBe(false);
    expect(withField('a: [', ['alias'], 'x')).toBe('a: [');
    expect(fieldOf(withField('', ['destination'], 'main'), ['destination'])).toBe('main');
  });
});

describe('differences', () => {
  it('finds the shortest', () => {
    expect(diffLines('a\nb\nc\n', 'a\nc\nd\n').map((line) => `${line.kind[0]}${line.text}`)).toEqual([
      'sa',
      'rb',
      'sc',
      'ad',
    ]);
    expect(diffLines('a', 'a')).toEqual([{ kind: 'same', text: 'a' }]);
  });
  it('splits candidates', () => {
    expect(candidateWords(' exp-1, exp-2\n exp-*')).toEqual(['exp-1', 'exp-2', 'exp-*']);
  });
});
