import { Page } from '../../components/page.tsx'

export function UsagePage() {
  return <Page title="UsagePage">{null}</Page>
}
