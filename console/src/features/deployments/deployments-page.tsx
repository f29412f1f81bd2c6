import { Page } from '../../components/page.tsx'

export function DeploymentsPage() {
  return <Page title="DeploymentsPage">{null}</Page>
}
