import pg from 'pg'
import { waitUntil } from '../../../server/test/support/process.ts'
import { waitTimeout } from './server.ts'

/**
 * Copies the first organization's usage to earlier days with varying amounts, as settled hours of its
 * terminated deployment.
 */
export async function addPastUsage(databaseUrl: string, days = 24): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    // Recent usage is in the ledger only after it is settled.
    const isSettled = async () =>
      (await client.query("SELECT 1 FROM usage_buckets WHERE meter <> 'gpu_instance_seconds' LIMIT 1"))
        .rowCount === 1
    await waitUntil(isSettled, 5 * waitTimeout, 'usage to be settled')
    await client.query(
      `INSERT INTO usage_buckets (organization_id, deployment_id, meter, hour, dimensions, quantity, price_key,
         service_key, display_name, unit_amount, currency, sealed_at)
       SELECT organization_id,
         (SELECT id FROM deployments WHERE status = 'terminated' AND deployments.organization_id = used.organization_id LIMIT 1),
         meter, date_trunc('day', now(), 'UTC') - day * interval '1 day', dimensions,
         round((CASE meter WHEN 'gpu_instance_seconds' THEN 25000 ELSE 60000 END
           * (1.2 + sin(day * 1.3) * 0.5 + cos(day * 0.4) * 0.3))::numeric
           * (CASE WHEN extract(isodow FROM now() - day * interval '1 day') > 5 THEN 0.35 ELSE 1 END)),
         price_key, service_key, display_name, unit_amount, currency, now()
       FROM (SELECT DISTINCT ON (deployment_id, meter, dimensions_key) * FROM usage_buckets
             WHERE organization_id = (SELECT min(organization_id) FROM usage_buckets) AND unit_amount IS NOT NULL
             ORDER BY deployment_id, meter, dimensions_key, hour) AS used, generate_series(1, $1::int) AS day
       ON CONFLICT DO NOTHING`,
      [days],
    )
  } finally {
    await client.end()
  }
}
