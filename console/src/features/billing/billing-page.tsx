import { Page } from '../../components/page.tsx'

export function BillingPage() {
  return <Page title="BillingPage">{null}</Page>
}
