"""Sessions, clusters, brokers and jobs that the tests of Spark share."""
