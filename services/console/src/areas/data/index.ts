export { default } from './Data.svelte';
