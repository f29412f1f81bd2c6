import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import {
  chartFolder,
  describeRendering,
  listChartSettings,
  renderedFile,
  schemaFile,
} from '../chart/describe-chart.ts'

const values = parse(readFileSync(join(chartFolder, 'values.yaml'), 'utf8'))
const schema = JSON.parse(readFileSync(schemaFile, 'utf8'))
const templates = globSync('templates/*', { cwd: chartFolder }).map((file) =>
  readFileSync(join(chartFolder, file), 'utf8'),
)

/** The paths of values without values in them. */
function listPaths(value: unknown, path: string[] = []): string[] {
  const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value)
  const members = isGroup ? Object.entries(value) : []
  return members.length === 0
    ? [path.join('.')]
    : members.flatMap(([name, member]) => listPaths(member, [...path, name]))
}

/** Values that Kubernetes or Berth knows, not the chart */
const isFree = (path: string) => /\.resources\.|^settings\./.test(path)

test('the values of the chart are those of its schema', () => {
  const listSchema = ({ properties, additionalProperties }: any, path: string[] = []): string[] =>
    properties === undefined || additionalProperties !== false
      ? [path.join('.')]
      : Object.entries(properties).flatMap(([name, member]) => listSchema(member, [...path, name]))
  const named = listPaths(values).map((path) =>
    isFree(path) ? path.replace(/(resources|settings)\..*/, '$1') : path,
  )
  expect([...new Set(named)].toSorted()).toEqual(
    listSchema(schema)
      .filter((path) => path !== 'global')
      .toSorted(),
  )
})

test('templates read values that exist, and all of them', () => {
  const text = templates.join('\n')
  const read = [...text.matchAll(/\.Values\.([\w.]+)/g)].map(([, path]) => path!)
  expect(read.length).toBeGreaterThan(20)
  for (const path of read) {
    expect(
      path.split('.').reduce((found, name) => found?.[name], values),
      path,
    ).toBeDefined()
  }
  for (const path of listPaths(values).filter((each) => !isFree(each))) {
    expect(text, path).toContain(`.${path.split('.').at(-1)}`)
  }
})

test('the chart takes the settings that exist, without secrets and those that its templates set', () => {
  expect(schema.properties.settings.propertyNames.enum, 'run `npm run chart`').toEqual(listChartSettings())
  for (const name of ['ROLE', 'SECRET_KEY', 'DATABASE_URL', 'MAIL_URL', 'STRIPE_SECRET_KEY', 'PORT']) {
    expect(listChartSettings()).not.toContain(name)
  }
  expect(listChartSettings()).toEqual(expect.arrayContaining(Object.keys(values.settings)))
  const helper = templates.find((text) => text.includes('define "berth.settings"')) ?? ''
  const set = [...helper.matchAll(/^ {2}"([A-Z_]+)" /gm)].map(([, name]) => name!)
  expect(set).toContain('METRICS_PORT')
})

test('deploy/kubernetes is rendered from the chart', () => {
  expect(readFileSync(renderedFile, 'utf8').split('\n')[0], 'run `npm run chart`').toBe(describeRendering())
})
