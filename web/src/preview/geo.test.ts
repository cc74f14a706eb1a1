import { describe, expect, it } from 'vitest';
import { drawingOf, pointsMax, projection } from './geo';

const feature = (geometry: unknown, properties = {}) => ({ type: 'Feature', geometry, properties });

describe('GeoJSON', () => {
  it('is drawn by kind, with its bounds', () => {
    const drawing = drawingOf({
      type: 'FeatureCollection',
      features: [
        feature({ type: 'Point', coordinates: [10, 50] }, { name: 'a' }),
        feature({
          type: 'LineString',
          coordinates: [
            [11, 51],
            [12, 52],
          ],
        }),
        feature({
          type: 'GeometryCollection',
          geometries: [
            {
              type: 'Polygon',
              coordinates: [
                [
                  [9, 49],
                  [10, 49],
                  [10, 50],
                  [9, 49],
                ],
              ],
            },
          ],
        }),
        feature(null),
      ],
    })!;
    expect(drawing.features).toBe(4);
    expect(drawing.shapes.map((shape) => shape.kind)).toEqual(['point', 'line', 'area']);
    expect(drawing.bounds).toEqual([9, 49, 12, 52]);
    expect(drawing.properties[0]).toEqual({ name: 'a' });
  });
  it.each([null, 1, [], {}, { type: 'Topology' }, { type: 'FeatureCollection', features: 'x' }])(
    'is not: %j',
    (value) => {
      expect(drawingOf(value)).toBeNull();
    },
  );
  it('leaves out what is broken', () => {
    const drawing = drawingOf(
      feature({ type: 'LineString', coordinates: [[1, 2], 'x', [null, 3], [3, 1e999], [4, 5]] }),
    )!;
    expect(drawing.shapes[0]!.lines).toEqual([
      [
        [1, 2],
        [4, 5],
      ],
    ]);
    expect(drawingOf(feature({ type: 'Polygon', coordinates: 'x' }))!.bounds).toBeNull();
  });
  it('is cut after so many points', () => {
    const drawing = drawingOf({
      type: 'MultiPoint',
      coordinates: Array.from({ length: pointsMax + 5 }, (_, n) => [n % 360, n % 90]),
    })!;
    expect(drawing.isCut).toBe(true);
    expect(drawing.shapes[0]!.lines[0]!.length).toBe(pointsMax);
  });
  it('keeps north up, west left, and one place in the drawing', () => {
    const { height, at } = projection([0, 0, 10, 10], 100, 10);
    expect(at([0, 10])[1]).toBeCloseTo(10);
    expect(at([0, 0])[1]).toBeCloseTo(height - 10);
    expect(at([10, 0])[0]).toBeGreaterThan(at([0, 0])[0]);
    const one = projection([5, 5, 5, 5], 100, 10).at([5, 5]);
    expect(one.every(Number.isFinite)).toBe(true);
  });
});
