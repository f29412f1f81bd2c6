import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig, settingNames } from '../../src/config/config.ts'
import { listWarnings } from '../../src/config/warnings.ts'
import { readInstanceTypesFile } from '../../src/features/placement/instance-types-file.ts'
import { stopMilliseconds } from '../../src/process/processes.ts'
import { readManifests } from '../support/manifests.ts'

const root = resolve(import.meta.dirname, '../../..')
const folder = join(root, 'deploy/kubernetes')
const kustomization = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8'))
const objects = kustomization.resources.flatMap(readManifests)
const find = (kind: string, name: string) =>
  objects.find((object: any) => object.kind === kind && object.metadata.name === name)
const deployments = ['berth-api', 'berth-worker'].map((name) => find('Deployment', name))

/** The values of the chart in deploy/README.md */
function readDocumentedValues(): { settings: Record<string, string> } {
  const readme = readFileSync(join(root, 'deploy/README.md'), 'utf8')
  return parse(/^ *```yaml\n(.+?)^ *```$/ms.exec(readme)?.[1] ?? '')
}

/** API versions that current clusters serve. */
const apiVersions: Record<string, string> = {
  Namespace: 'v1',
  ServiceAccount: 'v1',
  ConfigMap: 'v1',
  Service: 'v1',
  Deployment: 'apps/v1',
  Role: 'rbac.authorization.k8s.io/v1',
  RoleBinding: 'rbac.authorization.k8s.io/v1',
  PodDisruptionBudget: 'policy/v1',
  HorizontalPodAutoscaler: 'autoscaling/v2',
  NetworkPolicy: 'networking.k8s.io/v1',
}

describe('manifests', () => {
  test('kustomization.yaml lists every file, and every object has a current API version', () => {
    const files = readdirSync(folder).filter((file) => file !== 'kustomization.yaml')
    expect(kustomization.resources.toSorted()).toEqual(files.toSorted())
    for (const { apiVersion, kind, metadata } of objects) {
      expect({ kind, apiVersion }).toEqual({ kind, apiVersion: apiVersions[kind] })
      expect(metadata.name).toMatch(/^[a-z0-9-]+$/)
    }
    expect(new Set(objects.map(({ kind }: any) => kind))).toEqual(new Set(Object.keys(apiVersions)))
  })

  test("the role grants only what the runtime needs, and can't read secrets", () => {
    const { rules } = find('Role', 'berth-engines')
    const allowed = Object.fromEntries(rules.map((rule: any) => [rule.resources.join(), rule.verbs.join()]))
    expect(allowed).toEqual({
      deployments: 'get,list,watch,create,patch,delete',
      leaderworkersets: 'get,list,watch,create,patch,delete',
      services: 'list,create,patch,delete',
      networkpolicies: 'list,create,patch,delete',
      secrets: 'create,patch,delete',
      pods: 'list,watch,delete',
      'pods/log': 'get',
      events: 'list',
    })
    expect(objects.filter(({ kind }: any) => kind.startsWith('Cluster'))).toEqual([])
  })

  test('the API may read engine logs and nothing else; the worker manages engines', () => {
    const { rules } = find('Role', 'berth-logs')
    const allowed = Object.fromEntries(rules.map((rule: any) => [rule.resources.join(), rule.verbs.join()]))
    expect(allowed).toEqual({ pods: 'list', 'pods/log': 'get' })
    const bindings = objects.filter(({ kind }: any) => kind === 'RoleBinding')
    expect(
      bindings.map(({ roleRef, subjects }: any) => [roleRef.name, ...subjects.map(({ name }: any) => name)]),
    ).toEqual([
      ['berth-engines', 'berth-worker'],
      ['berth-logs', 'berth-api'],
    ])
  })

  test.each(deployments)(
    '$metadata.name: unprivileged, with its own service account and valid settings',
    (object) => {
      const { spec, metadata } = object.spec.template
      expect(metadata.labels).toMatchObject(object.spec.selector.matchLabels)
      // The engines' network policies admit only pods with this label.
      expect(metadata.labels['app.kubernetes.io/name']).toBe('berth')
      expect(spec).toMatchObject({
        serviceAccountName: object.metadata.name,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      })
      const [container] = spec.containers
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      const settings = find('ConfigMap', 'berth-settings').data
      expect(settingNames).toEqual(expect.arrayContaining(Object.keys(settings)))
      const config = readConfig({
        ...settings,
        ...Object.fromEntries(container.env.map(({ name, value }: any) => [name, value])),
        DATABASE_URL: 'postgres://berth:secret@database/berth',
        SECRET_KEY: 'x'.repeat(32),
      })
      expect(config.kubernetes).toMatchObject({ namespace: kustomization.namespace, kubeconfig: null })
      expect(object.metadata.name).toBe(`berth-${config.role}`)
    },
  )

  test("the README's values have valid settings and known instance types", () => {
    const settings = { ...find('ConfigMap', 'berth-settings').data, ...readDocumentedValues().settings }
    expect(settingNames).toEqual(expect.arrayContaining(Object.keys(settings)))
    const { kubernetes, instanceTypesFile } = readConfig({
      ...settings,
      ROLE: 'api',
      DATABASE_URL: 'postgres://berth:secret@database/berth',
      SECRET_KEY: 'x'.repeat(32),
      MAIL_URL: 'smtp://mail.example.com',
    })
    const known = readInstanceTypesFile(instanceTypesFile).map(({ name }) => name)
    expect(known).toEqual(expect.arrayContaining(kubernetes!.instanceTypes!))
  })

  test("no warnings with the README's values and secret", () => {
    const readme = readFileSync(join(root, 'deploy/README.md'), 'utf8')
    // `kubectl apply` warns about objects that `kubectl create` made.
    expect(readme).not.toContain('create namespace')
    const secret = [...readme.matchAll(/--from-literal=(\w+)=/g)].map(([, name]) => name)
    expect(secret).toEqual(['DATABASE_URL', 'SECRET_KEY', 'MAIL_URL'])
    const settings = {
      ...find('ConfigMap', 'berth-settings').data,
      DATABASE_URL: 'postgres://berth:secret@database/berth',
      SECRET_KEY: 'x'.repeat(32),
    }
    for (const ROLE of ['api', 'worker']) {
      expect(listWarnings(readConfig({ ...settings, ROLE }))).not.toEqual([])
      const complete = {
        ...settings,
        ...readDocumentedValues().settings,
        MAIL_URL: 'smtp://mail.example.com',
        ROLE,
      }
      expect(listWarnings(readConfig(complete))).toEqual([])
    }
  })

  test('services, disruption budgets, the autoscaler and network policies select existing pods', () => {
    const pods = deployments.map(({ spec }) => spec.template.metadata.labels)
    const selectors = objects.flatMap(({ kind, spec }: any) =>
      kind === 'Service' ? [spec.selector] : [spec?.selector?.matchLabels, spec?.podSelector?.matchLabels],
    )
    const defined = selectors.filter((selector: unknown) => selector !== undefined)
    expect(defined.length).toBeGreaterThan(6)
    for (const selector of defined) expect(pods).toContainEqual(expect.objectContaining(selector))
    const { scaleTargetRef, minReplicas } = find('HorizontalPodAutoscaler', 'berth-api').spec
    expect(find(scaleTargetRef.kind, scaleTargetRef.name)).toBeDefined()
    expect(minReplicas).toBeGreaterThan(1)
    expect(find('Deployment', 'berth-api').spec.replicas).toBeUndefined()
  })

  test('pods and containers have the time of a stop before SIGKILL', () => {
    const { terminationGracePeriodSeconds: grace, containers } = find('Deployment', 'berth-api').spec.template
      .spec
    const [, delay] = containers[0].lifecycle.preStop.exec.command
    expect(grace).toBeGreaterThanOrEqual(Number(delay) + stopMilliseconds / 1000)
    const { services } = parse(readFileSync(join(root, 'deploy/compose.yaml'), 'utf8'))
    expect(parseInt(services.berth.stop_grace_period, 10)).toBeGreaterThanOrEqual(stopMilliseconds / 1000)
  })

  test('the README states the number of database connections of all pods', () => {
    const readme = readFileSync(join(root, 'deploy/README.md'), 'utf8').replaceAll(/\s+/g, ' ')
    const { databasePoolSize: pool } = readConfig(find('ConfigMap', 'berth-settings').data)
    const { minReplicas, maxReplicas } = find('HorizontalPodAutoscaler', 'berth-api').spec
    const { replicas } = find('Deployment', 'berth-worker').spec
    const count = (apis: number, workers: number) => String(apis * (pool + 5) + workers * (pool + 7))
    expect(readme).toContain(`${count(minReplicas, replicas)} with two pods of each`)
    expect(readme).toContain(`${count(maxReplicas, replicas)} with the autoscaler's ten APIs`)
    expect(readme).toContain(`${count(maxReplicas + 1, replicas + 1)} while an upgrade`)
  })

  test('kubectl renders the manifests', async ({ skip }) => {
    const run = promisify(execFile)
    if (!(await run('kubectl', ['version', '--client']).catch(() => null))) skip('kubectl is not installed')
    const { stdout } = await run('kubectl', ['kustomize', folder])
    const rendered = parseAllDocuments(stdout).map((document) => document.toJS())
    expect(rendered).toHaveLength(objects.length)
    for (const { kind, metadata } of rendered) {
      if (kind !== 'Namespace') expect(metadata.namespace).toBe('berth')
    }
  })
})

describe('image and compose file', () => {
  const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8')

  test('the Dockerfile copies existing files and runs as an unprivileged user', () => {
    const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, list = '']) =>
      list.split(' '),
    )
    expect(sources.length).toBeGreaterThan(5)
    for (const source of sources) expect(existsSync(join(root, source)), source).toBe(true)
    expect(dockerfile).toMatch(/^USER node$/m)
    expect(dockerfile).not.toMatch(/node:latest/)
  })

  test('the compose file has valid settings and declares every volume', () => {
    const { services, volumes } = parse(readFileSync(join(root, 'deploy/compose.yaml'), 'utf8'))
    const environment = services.berth.environment as Record<string, string>
    expect(settingNames).toEqual(expect.arrayContaining(Object.keys(environment)))
    const filled = Object.entries(environment).map(([name, value]) => [
      name,
      value.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1').replaceAll(/\$\{\w+:\?[^}]*\}/g, 'x'.repeat(32)),
    ])
    const config = readConfig(Object.fromEntries(filled))
    expect(config).toMatchObject({ runtimes: ['local'], role: 'all' })
    expect(listWarnings(config)).toEqual([])
    const behindProxy = { PUBLIC_URL: 'https://berth.example.com' }
    for (const warning of listWarnings(readConfig({ ...Object.fromEntries(filled), ...behindProxy }))) {
      expect(Object.keys(environment)).toContain(warning.split(' ')[0])
    }
    const gpu = parse(readFileSync(join(root, 'deploy/compose.cuda.yaml'), 'utf8'))
    expect(gpu.services).toEqual({ berth: { build: { target: 'cuda' }, gpus: 'all' } })
    for (const { volumes: mounts } of Object.values<any>(services)) {
      for (const mount of mounts) expect(Object.keys(volumes)).toContain(mount.split(':')[0])
    }
  })
})
