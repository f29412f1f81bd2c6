import { Page } from '../../components/page.tsx'

export function CatalogPage() {
  return <Page title="CatalogPage">{null}</Page>
}
