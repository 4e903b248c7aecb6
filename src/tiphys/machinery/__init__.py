"""What all kinds share: metadata, selectors, quantities, schemas, patches, errors. All of it is core: values in, values out."""
