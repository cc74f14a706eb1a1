import { describe, expect, it } from 'vitest';
import { complete, parseCondition, parseConditions } from './conditions';
import { joined, smoothed } from './curves';
import { defaultColumns, goalsOf } from './run_queries';
import { columnsOf, judge, type ListedRun, requestedColumn, shownNumber, signed, valueOf } from './run_values';
import { axisOf } from './scatter';
import { differing } from './side_by_side';
import { boxOf, correlation, inOrder, rangeOf, share, ticks } from './statistics';

function run(
  id: string,
  metrics: Record<string, number | string>,
  params: Record<string, string> = {},
  ofCommit: Record<string, number> = {},
): ListedRun {
  return {
    id,
    experiment: 'e',
    commit_id: id,
    branch: 'b',
    owner: 'o',
    creation_date: '',
    artifacts: [],
    source: {},
    name: '',
    notes: '',
    tags: [],
    state: 'finished',
    seen_date: '',
    params,
    metrics: Object.entries(metrics).map(([name, value]) => ({ name, value })),
    commit_params: {},
    commit_metrics: Object.entries(ofCommit).map(([name, value]) => ({
      name,
      value,
      origin: 'file:m.json',
      source: 'm.json',
    })),
  };
}
import { metricProblem } from './record_run';

describe('values of runs', () => {
  it('takes the run before its commit', () => {
    const one = run('a', { accuracy: 0.9 }, { lr: '0.1' }, { accuracy: 0.5, loss: 2 });
    expect(valueOf(one, 'metrics.accuracy')).toEqual({ text: '0.9', number: 0.9, origin: 'run' });
    expect(valueOf(one, 'metrics.loss')?.origin).toBe('file:m.json');
    expect(columnsOf([one])).toEqual(['metrics.accuracy', 'metrics.loss', 'params.lr']);
  });
  it('judges by the goal, not by the sign', () => {
    expect(judge(0.9, 0.8, 'max')).toBe('better');
    expect(judge(0.9, 0.8, 'min')).toBe('worse');
    expect(judge(0.8, 0.8, 'min')).toBe('equal');
    expect(judge(Number.NaN, 0.8, 'max')).toBe('worse');
    expect(judge(0.9, undefined, 'max')).toBe('unknown');
    expect(judge(0.9, 0.8, undefined)).toBe('unknown');
  });
  it('shows numbers of every size', () => {
    expect([0, 0.8463, 1234.5, 1.2e-7, 3e12, Number.NaN].map(shownNumber)).toEqual([
      '0',
      '0.8463',
      '1,234.5',
      '1.2e-7',
      '3e+12',
      'NaN',
    ]);
    expect([0.0266, -3, 0].map(signed)).toEqual(['+0.0266', '−3', '±0']);
  });
  it('asks for the metric of a split', () => {
    expect(requestedColumn('metrics.loss@val')).toBe('metrics.loss');
    expect(requestedColumn('params.a@b')).toBe('params.a@b');
  });
});

describe('the filter language', () => {
  it('reads conditions as the server does', () => {
    expect(parseCondition(' metrics.accuracy > 0.9 ')).toEqual({ kind: 'where', text: 'metrics.accuracy>0.9' });
    expect(parseCondition('params.optimizer!=sgd')).toEqual({ kind: 'where', text: 'params.optimizer!=sgd' });
    expect(parseCondition('branch = exp-*')).toEqual({ kind: 'field', field: 'branch', value: 'exp-*' });
    for (const wrong of [
      'accuracy>1',
      'metrics.accuracy',
      'metrics.a>high',
      'params.a>x',
      'metrics.>1',
      'branch>1',
      'branch=',
    ])
      expect(parseCondition(wrong).kind, wrong).toBe('wrong');
  });
  it('joins conditions by and', () => {
    expect(parseConditions('metrics.loss < 1 AND tag = a and state = running')).toEqual([
      { kind: 'where', text: 'metrics.loss<1' },
      { kind: 'field', field: 'tag', value: 'a' },
      { kind: 'field', field: 'state', value: 'running' },
    ]);
    expect(parseConditions('params.text = black and white')).toEqual([
      { kind: 'where', text: 'params.text=black and white' },
    ]);
    expect(parseConditions('metrics.loss < 1 and metrics.a > x')).toMatchObject({ kind: 'wrong' });
    expect(parseConditions('state = late')).toMatchObject({ kind: 'wrong' });
  });
  it('completes names, operators and values', () => {
    const columns = ['metrics.accuracy', 'metrics.loss', 'params.optimizer'];
    const values = () => ['adam', 'sgd'];
    expect(complete('acc', columns, values).map((item) => item.text)).toEqual(['metrics.accuracy']);
    expect(complete('params.optimizer', columns, values).map((item) => item.label)).toContain('params.optimizer !=');
    expect(complete('params.optimizer = a', columns, values)).toEqual([
      { text: 'params.optimizer=adam', label: 'adam', done: true },
    ]);
    expect(complete('branch', columns, values).map((item) => item.label)).toEqual(['branch =']);
    expect(complete('', columns, values).length).toBe(9);
  });
});

describe('smoothing', () => {
  it('keeps constants and gaps, and forgets by its weight', () => {
    expect(smoothed([1, 3, Number.NaN, 3], 0)).toEqual([1, 3, Number.NaN, 3]);
    for (const value of smoothed([2, 2, 2, 2], 0.9)) expect(value).toBeCloseTo(2);
    const jump = smoothed([0, 0, 1, Number.NaN, 1], 0.5);
    expect(jump[2]).toBeCloseTo(4 / 7);
    expect(jump[3]).toBeNaN();
    expect(jump[4]).toBeCloseTo(12 / 15);
  });
});

describe('statistics', () => {
  it('finds ranges and quartiles of finite values', () => {
    expect(rangeOf([3, Number.NaN, 1, Number.POSITIVE_INFINITY])).toEqual({ min: 1, max: 3 });
    expect(rangeOf([Number.NaN])).toBeUndefined();
    expect(share(5, { min: 5, max: 5 })).toBe(0.5);
    expect(boxOf([1, 2, 3, 4])).toEqual({ count: 4, min: 1, low: 1.75, median: 2.5, high: 3.25, max: 4, mean: 2.5 });
    expect(boxOf([Number.NaN])).toBeUndefined();
  });
  it('correlates numbers and texts', () => {
    const numbers = [1, 2, 3, 4].map((value) => ({ param: String(value), number: value, metric: -2 * value }));
    expect(correlation(numbers)?.value).toBeCloseTo(-1);
    const texts = [
      ['a', 1],
      ['a', 1],
      ['b', 3],
      ['b', 3],
    ].map(([param, metric]) => ({ param: String(param), number: Number.NaN, metric: Number(metric) }));
    expect(correlation(texts)).toMatchObject({ kind: 'text', value: 1, count: 4 });
    expect(correlation(numbers.slice(0, 2))).toBeUndefined();
    expect(correlation(numbers.map((pair) => ({ ...pair, metric: 1 })))).toBeUndefined();
  });
  it('puts round ticks inside the range', () => {
    expect(ticks({ min: 0.71, max: 0.93 })).toEqual([0.75, 0.8, 0.85, 0.9]);
    expect(ticks({ min: 2, max: 2 })).toEqual([2]);
    expect(inOrder(['10', '9', '1e-3'])).toEqual(['1e-3', '9', '10']);
  });
});

describe('views', () => {
  it('hides equal rows', () => {
    const runs = [run('a', { accuracy: 1, loss: 2 }, { lr: '1' }), run('b', { accuracy: 1, loss: 3 })];
    expect(differing(runs, columnsOf(runs))).toEqual(['metrics.loss', 'params.lr']);
  });
  it('places texts side by side and numbers on a scale', () => {
    const runs = [
      run('a', {}, { o: 'adam', n: '1' }),
      run('b', {}, { o: 'sgd', n: '3' }),
      run('c', { n: 'NaN' }, { n: '2' }),
    ];
    const texts = axisOf(runs, 'params.o');
    expect(runs.map(texts.place)).toEqual([0, 1, undefined]);
    expect(runs.map(axisOf(runs, 'params.n').place)).toEqual([0, 1, 0.5]);
    expect(axisOf(runs, 'metrics.n').place(runs[2]!)).toBeUndefined();
  });
  it('joins curves with different steps, and leaves out what a logarithm has not', () => {
    const curve = (steps: number[], values: number[]) => ({ steps, values, isCut: false, isSampled: false });
    expect(
      joined([curve([0, 1], [1, 0]), curve([1, 2], [Number.NaN, 4])], true).map((column) =>
        Array.from(column as number[]),
      ),
    ).toEqual([
      [0, 1, 2],
      [1, null, undefined],
      [undefined, null, 4],
    ]);
  });
});

describe('gates', () => {
  it('says which goal a metric has', () => {
    const goals = goalsOf([
      'metrics: [{name: accuracy, goal: max}, {name: loss, split: val, goal: min}, {name: f1}]',
      ': {',
      '{"metrics": [{"name": "accuracy", "goal": "min"}]}',
    ]);
    expect([...goals]).toEqual([
      ['metrics.accuracy', 'max'],
      ['metrics.loss@val', 'min'],
    ]);
    expect(defaultColumns(['metrics.a', 'metrics.accuracy', 'params.p'], goals)).toEqual([
      'metrics.accuracy',
      'metrics.a',
      'params.p',
    ]);
  });
});

describe('metrics that are entered', () => {
  it('are numbers, NaN and infinities', () => {
    expect(
      metricProblem([
        ['accuracy', '0.91'],
        ['loss', '1e-3'],
        ['odd', 'NaN'],
        ['far', '-inf'],
      ]),
    ).toBeUndefined();
  });
  it.each([
    [[['accuracy', 'high']], 'accuracy needs a number'],
    [[['accuracy', '']], 'accuracy needs a number'],
    [[['', '1']], 'Each value needs a name'],
  ] as const)('are refused: %j', (pairs, why) => {
    expect(metricProblem(pairs as unknown as [string, string][])).toBe(why);
  });
});
