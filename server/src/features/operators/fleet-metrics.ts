import { sql } from 'kysely'
import type { Registry } from 'prom-client'
import type { Database } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { findHourlyPrice } from '../metering/instance-prices.ts'
import { addGauge, shareReading } from './gauges.ts'

interface InstanceRow {
  status: string
  /** null until hardware is chosen */
  instanceType: string | null
  region: string | null
  holdsHardware: boolean
  count: number
}

interface Fleet {
  deployments: { status: string; count: number }[]
  instances: InstanceRow[]
}

/** Adds gauges of all deployments and instances, whose labels are statuses and instance types. */
export function measureFleet(
  register: Registry,
  { db, prices, clock }: Pick<Services, 'db' | 'prices' | 'clock'>,
): void {
  const read = shareReading(() => readFleet(db))
  addGauge(
    register,
    read,
    {
      name: 'berth_deployments',
      help: 'Deployments by status, without terminated ones',
      labelNames: ['status'],
    },
    (gauge, { deployments }) => {
      for (const { status, count } of deployments) gauge.set({ status }, count)
    },
  )
  addGauge(
    register,
    read,
    {
      name: 'berth_instances',
      help: 'Instances that are not released, by status and instance type',
      labelNames: ['status', 'instance_type'],
    },
    (gauge, { instances }) => {
      for (const { status, instanceType, count } of instances) {
        gauge.inc({ status, instance_type: instanceType ?? '' }, count)
      }
    },
  )
  addGauge(
    register,
    read,
    {
      name: 'berth_instances_price_per_hour',
      help: 'Price per hour of the hardware that instances hold, in the currency of the prices',
      labelNames: ['instance_type'],
    },
    (gauge, { instances }) => {
      for (const { instanceType, region, holdsHardware, count } of instances) {
        if (!holdsHardware || instanceType === null || region === null) continue
        const perHour = findHourlyPrice(prices, { instanceType, region }, clock())
        gauge.inc({ instance_type: instanceType }, Number(perHour ?? 0) * count)
      }
    },
  )
}

async function readFleet(db: Database): Promise<Fleet> {
  const [deployments, instances] = await Promise.all([
    sql<Fleet['deployments'][number]>`
      SELECT status, count(*) AS count FROM deployments WHERE status <> 'terminated' GROUP BY status`.execute(
      db,
    ),
    sql<InstanceRow>`
      SELECT status, instance_type AS "instanceType", region, started_at IS NOT NULL AS "holdsHardware",
        count(*) AS count
      FROM instances WHERE status <> 'released' GROUP BY 1, 2, 3, 4`.execute(db),
  ])
  return { deployments: deployments.rows, instances: instances.rows }
}
