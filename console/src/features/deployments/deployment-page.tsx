import { Page } from '../../components/page.tsx'

export function DeploymentPage() {
  return <Page title="DeploymentPage">{null}</Page>
}
