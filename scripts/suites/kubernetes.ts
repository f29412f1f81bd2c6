// Runs the Kubernetes runtime and the manifests on KUBECONFIG's cluster or one of TEST_CLUSTER
// (server/test/kubernetes/README.md).
import { openCluster } from './cluster.ts'
import { runCommand } from '../../tools/programs.ts'
import { runSuite } from './suite.ts'

await runSuite('kubernetes', async (cleanUps) => {
  const environment = await openCluster(cleanUps)
  const files = process.argv.slice(2)
  await runCommand('vitest', ['run', '--project', 'kubernetes', ...files], environment)
})
